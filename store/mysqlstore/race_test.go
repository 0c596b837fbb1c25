package mysqlstore_test

import (
	"database/sql"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

var isolations = []string{"READ-COMMITTED", "REPEATABLE-READ"}

// crowd are stores over one table with a pool each, as several processes have
// them: calls of different ones never travel together.
func crowd(t *testing.T, address, isolation string, n int,
	open func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error)) (stores []*mysqlstore.Store, db *sql.DB) {
	var name string
	for range n {
		db = pool(t, address, "tx_isolation=%27"+isolation+"%27")
		if name == "" {
			name = table(t, db)
		}
		s, err := open(db, mysqlstore.Options{Table: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(within(t, ample)); err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	return stores, db
}

func TestOfManyClaimsOnAnExpiredRowExactlyOneWins(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, open := range map[string]func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error){
			"native": mysqlstore.New, "beside the original": mysqlstore.NewJavaCompatible,
		} {
			for _, isolation := range isolations {
				t.Run(name+" "+isolation, func(t *testing.T) {
					t.Parallel()
					const rounds = 300
					stores, db := crowd(t, address, isolation, 4, open)
					keys := newKeys(rounds)
					claimsAll(t, stores[0], requests(keys))
					executes(t, db, "UPDATE %s SET expire_time = IF(LEFT(%s, 1) < 'A', 1, expire_time - 100000)",
						stores[0].Table(), "HEX(owner)")
					raceFor(t, stores, keys)
				})
			}
		}
	})
}

// raceFor has 16 claimers claim each key at about the same moment, some of them
// many keys at once, and wants one of them to get it.
func raceFor(t *testing.T, stores []*mysqlstore.Store, keys []store.Key) {
	const claimers, together = 16, 10
	winners := make([]atomic.Int64, len(keys))
	count := func(i int, v store.Verdict, err error) {
		switch {
		case err != nil:
			t.Errorf("round %d: %v", i, err)
		case v.State == store.Claimed:
			winners[i].Add(1)
		case v.State != store.Busy:
			t.Errorf("round %d: got %v, want claimed or busy", i, v.State)
		}
	}
	start, ended := make(chan struct{}), sync.WaitGroup{}
	for c := range claimers {
		s := stores[c%len(stores)]
		ended.Go(func() {
			<-start
			if c < len(stores) {
				i := 0
				for some := range slices.Chunk(keys, together) {
					for _, a := range s.ClaimBatch(within(t, ample), requests(some)) {
						count(i, a.Verdict, a.Err)
						i++
					}
				}
				return
			}
			for i, k := range keys {
				v, err := s.Claim(within(t, ample), request(k, store.NewToken()))
				count(i, v, err)
			}
		})
	}
	close(start)
	ended.Wait()
	for i := range winners {
		if n := winners[i].Load(); n != 1 {
			t.Errorf("round %d: %d of %d claimers got the key, want 1", i, n, claimers)
		}
	}
}
