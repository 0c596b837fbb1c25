package mysqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// pulsed is what the only part of s answers.
func pulsed(t *testing.T, s store.Pulser, p store.Pulse) store.Beat {
	t.Helper()
	beats, err := s.Pulse(within(t, ample), p)
	if err != nil || len(beats) != 1 {
		t.Fatalf("pulse: got %+v, %v, want one beat", beats, err)
	}
	return beats[0]
}

func TestPulsesAreNoRecordsAndAreSwept(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		java, err := mysqlstore.NewJavaCompatible(db, mysqlstore.Options{Table: table(t, db)})
		if err != nil {
			t.Fatal(err)
		}
		if err := java.Migrate(within(t, ample)); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*mysqlstore.Store{
			"native": migrated(t, db, mysqlstore.Options{}), "beside the original": java,
		} {
			t.Run(name, func(t *testing.T) {
				pulsed(t, s, store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1, Doubt: true})
				for _, status := range []store.Status{0, store.StatusConsuming, store.StatusLapsed, store.StatusConsumed,
					store.StatusParked} {
					page, err := s.Scan(within(t, ample), store.Query{Status: status, Limit: 10})
					if err != nil || len(page.Records) != 0 || page.Next != "" {
						t.Errorf("scan of %v: got %+v, %v, want nothing", status, page, err)
					}
				}
				if n, err := s.Sweep(within(t, ample), 10); n != 0 || err != nil {
					t.Errorf("sweep: got %d, %v, want 0", n, err)
				}
				executes(t, db, "UPDATE %s SET expire_time = 1", s.Table())
				if n, err := s.Sweep(within(t, ample), 10); n != 2 || err != nil {
					t.Errorf("sweep of what has expired: got %d, %v, want 2", n, err)
				}
			})
		}
	})
}

func TestAnExpiredPulseAndAnExpiredDoubtAreForgotten(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		p := store.Pulse{Application: "billing", Node: store.NewToken(), Number: 7, Doubt: true}
		pulsed(t, s, p)
		p.Number, p.Doubt = 8, false
		if b := pulsed(t, s, p); b.Before != 7 || b.Doubt < 0 || b.Doubt > ample {
			t.Fatalf("got %+v, want 7 before and a doubt", b)
		}
		executes(t, db, "UPDATE %s SET expire_time = expire_time - %d", s.Table(), store.PulseKeep.Milliseconds())
		p.Number = 9
		if b := pulsed(t, s, p); b.Before != 0 || b.Doubt < 0 {
			t.Errorf("after PulseKeep: got %+v, want nothing before and the doubt", b)
		}
		executes(t, db, "UPDATE %s SET expire_time = 1", s.Table())
		p.Number = 10
		if b := pulsed(t, s, p); b.Before != 0 || b.Doubt != -1 {
			t.Errorf("after DoubtKeep: got %+v, want nothing before and no doubt", b)
		}
	})
}

func TestEachShardHasAPulseOfItsOwn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		a, b := migrated(t, db, mysqlstore.Options{}), migrated(t, db, mysqlstore.Options{})
		s, err := mysqlstore.NewSharded(func(store.Key) int { return 0 }, a, b)
		if err != nil {
			t.Fatal(err)
		}
		p := store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1}
		pulsed(t, a, p)
		p.Number = 2
		beats, err := s.Pulse(within(t, ample), p)
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]int64{}
		for _, b := range beats {
			before[b.Part] = b.Before
		}
		if len(beats) != 2 || before["0"] != 1 || before["1"] != 0 {
			t.Errorf("got %+v, want 1 before in shard 0 and none in shard 1", beats)
		}
	})
}

func TestAPulseKeepsItsDeadline(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		connected(t, db, 2)
		lock, err := db.Conn(within(t, ample))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close() // which unlocks
		if _, err := lock.ExecContext(within(t, ample), "LOCK TABLES "+s.Table()+" WRITE"); err != nil {
			t.Fatal(err)
		}
		p := store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1}
		err = briefly(t, time.Second, func(ctx context.Context) error {
			_, err := s.Pulse(ctx, p)
			return err
		})
		fails(t, "pulse", err, store.Unknown)
		if _, err := lock.ExecContext(within(t, ample), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		pulsed(t, s, p)
	})
}
