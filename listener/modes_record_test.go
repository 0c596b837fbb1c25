package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// What a record beside the effect does and does not do.

// stumbles lets the first run of every order fail, however far it has come.
func stumbles() func(no string) error {
	var before sync.Map
	return func(no string) error {
		if _, again := before.LoadOrStore(no, true); again {
			return nil
		}
		return errors.New("failed late")
	}
}

func failsLate(effect delivery) delivery {
	stumble := stumbles()
	return func(ctx context.Context, no string) error { return errors.Join(effect(ctx, no), stumble(no)) }
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
		// None of the others is ever delivered again.
		r, err := reconcile.New(m.records, reconcile.Options{
			Verifier: m.verify,
			Retry: func(ctx context.Context, k store.Key) error {
				m.copies(m.beside(), []string{k.ID}, 3) // what is published comes with copies
				return nil
			},
			Application: "market", Overdue: time.Millisecond, Logger: noLog.Logger,
		})
		m.ok(err)
		completed, retried := int64(0), int64(0)
		for until := time.Now().Add(time.Minute); completed+retried < 40 && time.Now().Before(until); {
			s, err := r.Pass(t.Context())
			m.ok(err)
			completed, retried = completed+s.Completed, retried+s.Retried
		}
		if completed != 20 || retried != 20 {
			t.Errorf("got %d keys completed and %d retried, want 20 each", completed, retried)
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
