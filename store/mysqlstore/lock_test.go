package mysqlstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// locked has a transaction that is not the store's hold the record of k, until
// unlock or the end of the test.
func locked(t *testing.T, db *sql.DB, s *mysqlstore.Store, k store.Key) (unlock func()) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // does nothing after unlock
	var status string
	query := "SELECT status FROM " + s.Table() + " WHERE " + s.Where(k) + " FOR UPDATE"
	if err := tx.QueryRowContext(within(t, ample), query).Scan(&status); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() } // it has changed nothing
}

// lockWait is how long the server waits for a row that is locked. It looks once
// a second, so that it may be up to two.
const lockWait = 2 * time.Second

func TestAKeyWhoseRowIsLockedIsBusyAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		// Under REPEATABLE READ a claim that waits for a row also holds up a new key
		// whose hash comes right before that of the row: one in ten in so small a table.
		db := pool(t, address, "tx_isolation=%27READ-COMMITTED%27")
		s := migrated(t, db, mysqlstore.Options{})
		k := newKey()
		claims(t, s, request(k, store.NewToken()), 1)
		executes(t, db, "UPDATE %s SET expire_time = expire_time - 100000", s.Table()) // it could be taken over
		unlock := locked(t, db, s, k)

		began := time.Now()
		if v := answers(t, s, k, store.Busy); v.Left <= 0 {
			t.Errorf("left: got %v, want more than 0", v.Left)
		}
		if took := time.Since(began); took < lockWait/4 || took > 2*lockWait {
			t.Errorf("a claim of a locked row took %v, want about %v", took, lockWait)
		}

		all := requests(newKeys(9))
		all[4].Key = k
		began = time.Now()
		for i, a := range s.ClaimBatch(within(t, ample), all) {
			want := store.Claimed
			if i == 4 {
				want = store.Busy
			}
			if a.Err != nil || a.Verdict.State != want {
				t.Errorf("claim %d beside a locked row: got %+v, %v, want %v", i, a.Verdict, a.Err, want)
			}
		}
		if took := time.Since(began); took > 3*lockWait {
			t.Errorf("claims beside a locked row took %v, want about %v", took, lockWait)
		}

		overtaken(t, s, k)
		unlock()
		claims(t, s, request(k, store.NewToken()), 2)
	})
}

// overtaken wants claims of other keys to be granted while one of k, whose row is
// locked, waits. A machine that is too busy for that has more than one chance.
func overtaken(t *testing.T, s *mysqlstore.Store, k store.Key) {
	t.Helper()
	for range 10 {
		waiting := make(chan error, 1)
		go func() {
			_, err := s.Claim(within(t, ample), request(k, store.NewToken()))
			waiting <- err
		}()
		n := 0
		for done := false; !done; {
			claims(t, s, request(newKey(), store.NewToken()), 1)
			select {
			case err := <-waiting:
				if done = true; err != nil {
					t.Errorf("the claim that waited: %v", err)
				}
			default:
				n++
			}
		}
		if n >= 5 {
			return
		}
	}
	t.Error("claims of other keys wait for the one of a locked row")
}

func TestASettlementOfALockedRowIsNotApplied(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		k, token := newKey(), store.NewToken()
		claims(t, s, request(k, token), 1)
		unlock := locked(t, db, s, k)

		_, err := s.Complete(within(t, ample), k, token, time.Hour)
		fails(t, "complete", err, store.NotApplied)
		fails(t, "release", s.Release(within(t, ample), k, token, true), store.NotApplied)
		fails(t, "renew", s.Renew(within(t, ample), []store.Claim{{Key: k, Token: token}})[0], store.NotApplied)
		other, mine := newKey(), store.NewToken()
		claims(t, s, request(other, mine), 1)
		settled := s.SettleBatch(within(t, ample), []store.Settlement{
			{Claim: store.Claim{Key: k, Token: token}, Keep: time.Hour},
			{Claim: store.Claim{Key: other, Token: mine}, Keep: time.Hour},
		})
		fails(t, "complete in a batch", settled[0].Err, store.NotApplied)
		if settled[1].Err != nil || settled[1].Completion != store.Completed {
			t.Errorf("complete beside it: got %v, %v, want completed", settled[1].Completion, settled[1].Err)
		}
		fails(t, "complete with little time", briefly(t, lockWait/8, func(ctx context.Context) error {
			_, err := s.Complete(ctx, k, token, time.Hour)
			return err
		}), store.Unknown)
		unlock()
		completes(t, s, k, token, time.Hour, store.Completed)
	})
}

// A claim that waited for a row judges it by a time before the owner wrote it.
func TestAnExpiryThatIsLaterBecauseOfAWaitIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		for late, lost := range map[time.Duration]bool{5 * time.Second: false, 2 * time.Hour: true} {
			running, done := newKey(), newKey()
			claims(t, s, request(running, store.NewToken()), 1)
			completes(t, s, done, store.NewToken(), time.Hour, store.Recreated)
			executes(t, db, "UPDATE %s SET expire_time = expire_time + %d", s.Table(), late.Milliseconds())
			v := answers(t, s, running, store.Busy)
			if v.Rearmed != lost || !lost && v.Left < time.Minute {
				t.Errorf("%v too late: got %+v, want rearmed %v", late, v, lost)
			}
			if v := answers(t, s, done, store.Done); v.Rearmed != lost {
				t.Errorf("%v too late: got rearmed %v for a done key, want %v", late, v.Rearmed, lost)
			}
			if v := answers(t, s, running, store.Busy); v.Rearmed {
				t.Errorf("%v too late: rearmed twice", late)
			}
			executes(t, db, "DELETE FROM %s", s.Table())
		}
	})
}
