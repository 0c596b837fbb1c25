package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// openShards opens two databases, on different servers, and a store over both that
// picks by the last digit of the order.
func openShards(t *testing.T) (even, odd *market, records *mysqlstore.Sharded) {
	t.Helper()
	even = openMarket(t, storetest.Server(t, "DEDUP_TEST_MARIADB"), "")
	odd = openMarket(t, storetest.Server(t, "DEDUP_TEST_MYSQL"), "")
	pick := func(k store.Key) int { return int(k.ID[len(k.ID)-1]) % 2 }
	records, err := mysqlstore.NewSharded(pick, even.records, odd.records)
	if err != nil {
		t.Fatal(err)
	}
	return even, odd, records
}

func TestShardsBookEachOrderOnceInItsDatabase(t *testing.T) {
	t.Parallel()
	even, odd, records := openShards(t)
	all := numbers(200)
	shard := func(no string) *market { return []*market{even, odd}[int(no[len(no)-1])%2] }
	for _, no := range all {
		shard(no).expect(no)
	}
	d := through(even.listener(records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
		return shard(msg.GetKeys()).book(ctx, tx, msg.GetKeys())
	}))
	even.copies(d, all, 8)
	even.wantBooked(len(all)/2, 1)
	odd.wantBooked(len(all)/2, 1)
}

func TestWhatIsWrittenToAnotherShardIsNotRolledBack(t *testing.T) {
	t.Parallel()
	even, odd, records := openShards(t)
	even.expect("0")
	odd.expect("0")
	failed := false
	there := odd.byHand(odd.book)
	d := through(even.listener(records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
		err := errors.Join(even.book(ctx, tx, msg.GetKeys()), there(ctx, msg.GetKeys()))
		if !failed {
			failed = true
			return errors.New("failed after both writes")
		}
		return err
	}))
	even.untilDone(d, "0")
	even.wantBooked(1, 1)
	odd.wantBooked(1, 2)
}
