package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// What a record does and does not do, beside the effect and with it.

// failsLate lets the first run of every order fail after its effect.
func failsLate(effect delivery) delivery {
	var failed sync.Map
	return func(ctx context.Context, no string) error {
		if err := effect(ctx, no); err != nil {
			return err
		}
		if _, before := failed.LoadOrStore(no, true); !before {
			return errors.New("failed after the effect")
		}
		return nil
	}
}

func TestBesideTheEffectARunThatFailsLateHappensAgain(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m, all := openMarket(t, address, ""), numbers(50)
		m.expect(all...)
		m.copies(m.besideThe(failsLate(m.byHand(m.book))), all, 4)
		m.wantBooked(len(all), 2)
	})
}

func TestACalleeThatKnowsTheKeyMakesTheSecondRunHarmless(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m, all := openMarket(t, address, ""), numbers(50)
		m.expect(all...)
		callee := m.byHand(func(ctx context.Context, tx *sql.Tx, key string) error {
			fresh, err := affected(tx.ExecContext(ctx, "INSERT IGNORE INTO "+m.entries+" VALUES (?)", key))
			if err != nil || fresh == 0 {
				return err
			}
			return m.book(ctx, tx, key)
		})
		m.copies(m.besideThe(failsLate(callee)), all, 4)
		m.wantBooked(len(all), 1)
	})
}

func TestACallFromATransactionHappensAgainWhenItIsRolledBack(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		m.expect("a")
		calls := 0
		d := through(m.listener(m.records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
			err := m.book(ctx, tx, msg.GetKeys())
			if calls++; calls == 1 {
				return errors.New("failed after the call")
			}
			return err
		}))
		m.untilDone(d, "a")
		m.wantBooked(1, 1)
		if calls != 2 {
			t.Errorf("got %d calls, want the one of the transaction that was rolled back, too", calls)
		}
	})
}

func TestACopyThatWaitsHoldsAConnection(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		var d delivery
		var copies sync.WaitGroup
		running := false
		d = through(m.listener(m.records).Tx(func(context.Context, *sql.Tx, *primitive.MessageExt) error {
			if running {
				return errors.New("a copy runs")
			}
			running = true
			for range 3 {
				copies.Go(func() { m.untilDone(d, "a") })
			}
			for until := time.Now().Add(time.Minute); m.db.Stats().InUse < 4; runtime.Gosched() {
				if time.Now().After(until) {
					t.Errorf("got %d connections in use, want one for the run and each copy", m.db.Stats().InUse)
					break
				}
			}
			return nil
		}))
		m.ok(d(t.Context(), "a"))
		copies.Wait()
	})
}

// Different orders are different keys: their common rows are locked by the
// database alone.
func TestARecordDoesNotKeepDifferentOrdersFromReadingBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		meeting := make(chan bool)
		d := through(m.listener(m.records).Tx(func(ctx context.Context, tx *sql.Tx, _ *primitive.MessageExt) error {
			var left int
			err := tx.QueryRowContext(ctx, "SELECT left_over FROM "+m.stock+" WHERE item = 0").Scan(&left)
			if err != nil {
				return err
			}
			select {
			case meeting <- true:
			case <-meeting:
			case <-ctx.Done():
				return ctx.Err()
			}
			_, err = tx.ExecContext(ctx, "UPDATE "+m.stock+" SET left_over = ? WHERE item = 0", left-1)
			return err
		}))
		var both sync.WaitGroup
		for _, no := range []string{"a", "b"} {
			both.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := d(ctx, no); err != nil {
					t.Errorf("%s: %v", no, err)
				}
			})
		}
		both.Wait()
		if got := stockEach - m.number("SELECT left_over FROM "+m.stock+" WHERE item = 0"); got != 1 {
			t.Errorf("got %d items sold, want 1 although both orders were acknowledged", got)
		}
	})
}

// The server takes back the statement that waited too long, and nothing else.
func TestAHandlerThatKeepsAnErrorToItselfCommitsHalf(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		m.expect("a")
		other := m.begun()
		m.ok(m.take(t.Context(), other, "a"))
		ignore := false
		d := through(m.listener(m.records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
			err := m.book(ctx, tx, msg.GetKeys())
			if !isNumber(err, lockTimeout) {
				t.Errorf("got %v, want the server's error %d", err, lockTimeout)
			}
			if ignore {
				return nil
			}
			return err
		}))
		if err := d(t.Context(), "a"); !errors.Is(err, errBack) {
			t.Errorf("got %v, want the message back", err)
		}
		m.wantBooked(1, 0)
		ignore = true
		m.ok(d(t.Context(), "a"))
		m.ok(other.Rollback())
		booked, left := m.number("SELECT SUM(booked) FROM "+m.orders), m.number("SELECT MIN(left_over) FROM "+m.stock)
		if booked != 1 || left != stockEach {
			t.Errorf("got %d orders and %d items left of each, want 1 and %d", booked, left, stockEach)
		}
	})
}

func TestARowThatManyShareHoldsThemUpUnlessItIsWrittenLast(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for name, c := range map[string]struct {
			sharedFirst bool
			want        error
		}{
			"first": {true, errBack},
			"last":  {false, nil},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := openMarket(t, address, "")
				m.expect("a", "b")
				var meanwhile error
				d := m.sharing(c.sharedFirst, func(other delivery) { meanwhile = other(context.Background(), "b") })
				m.untilDone(d, "a")
				if !errors.Is(meanwhile, c.want) {
					t.Errorf("another order while one works: got %v, want %v", meanwhile, c.want)
				}
				m.untilDone(d, "b")
				if got := m.number("SELECT SUM(booked) FROM " + m.orders); got != 2 {
					t.Errorf("got %d orders booked, want 2", got)
				}
			})
		}
	})
}

// sharing delivers orders that all take from one row of the stock. The work of
// order a, between its two writes, is given the delivery itself.
func (m *market) sharing(sharedFirst bool, work func(delivery)) (d delivery) {
	shared := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+m.stock+" SET left_over = left_over - 1 WHERE item = 0")
		return err
	}
	own := func(ctx context.Context, tx *sql.Tx, no string) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+m.orders+" SET booked = booked + 1 WHERE no = ?", no)
		return err
	}
	d = through(m.listener(m.records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
		no := msg.GetKeys()
		working := func() {
			if no == "a" {
				work(d)
			}
		}
		if sharedFirst {
			if err := shared(ctx, tx); err != nil {
				return err
			}
			working()
			return own(ctx, tx, no)
		}
		if err := own(ctx, tx, no); err != nil {
			return err
		}
		working()
		return shared(ctx, tx)
	}))
	return d
}

// shards are two databases, on different servers, and a store over both that
// picks by the first letter of the order.
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

func TestThreeStepsAndAReconcilerBookEachOrderOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m, all := openMarket(t, address, ""), numbers(60)
		m.expect(all...)
		for i, no := range all {
			if i%3 == 2 {
				m.untilDone(m.beside(), no)
				continue
			}
			m.abandon(no, i%3 == 0)
		}
		// None of the others is delivered again: the acknowledgement was the last
		// that came of it, or the retries are used up.
		time.Sleep(20 * time.Millisecond) // the records' own time
		r, err := reconcile.New(m.records, reconcile.Options{
			Verifier: m.verify,
			Retry: func(ctx context.Context, k store.Key) error {
				m.copies(m.beside(), []string{k.ID}, 3) // what is published comes with copies
				return nil
			},
			Application: "market", Overdue: time.Millisecond, Logger: noLog.Logger,
		})
		m.ok(err)
		got, err := r.Pass(t.Context())
		m.ok(err)
		if got.Completed != 20 || got.Retried != 20 {
			t.Errorf("got %+v, want 20 completed and 20 retried", got)
		}
		m.wantBooked(len(all), 1)
	})
}

// abandon is what remains of a process that died, after the effect or before it.
func (m *market) abandon(no string, after bool) {
	m.t.Helper()
	v, err := m.records.Claim(context.Background(), store.ClaimRequest{
		Key: store.Key{Application: "market", Topic: "orders", ID: no}, Token: store.NewToken(),
		Lease: 10 * time.Millisecond, Horizon: time.Hour,
	})
	if err != nil || v.State != store.Claimed {
		m.t.Fatalf("got %v, %v, want the claim", v, err)
	}
	if after {
		m.ok(m.byHand(m.book)(context.Background(), no))
	}
}

// verify looks the order up.
func (m *market) verify(ctx context.Context, k store.Key) (reconcile.Finding, error) {
	var status string
	err := m.db.QueryRowContext(ctx, "SELECT status FROM "+m.orders+" WHERE no = ?", k.ID).Scan(&status)
	switch {
	case err != nil:
		return reconcile.Unknown, err
	case status == "booked":
		return reconcile.Happened, nil
	}
	return reconcile.NotHappened, nil
}
