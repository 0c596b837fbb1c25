package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// What a record in the business transaction does not do, and how handlers are
// written best.

func TestInItsTransactionARunThatFailsLateIsTakenBack(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m, all, stumble := openMarket(t, address, ""), numbers(50), stumbles()
		m.expect(all...)
		m.copies(m.togetherWith(func(ctx context.Context, tx *sql.Tx, no string) error {
			return errors.Join(m.book(ctx, tx, no), stumble(no))
		}), all, 4)
		m.wantBooked(len(all), 1)
	})
}

func TestACallFromATransactionHappensAgainWhenItIsRolledBack(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		m.expect("a")
		calls := 0
		d := m.togetherWith(func(ctx context.Context, tx *sql.Tx, no string) error {
			err := m.book(ctx, tx, no)
			if calls++; calls == 1 {
				return errors.New("failed after the call")
			}
			return err
		})
		m.untilDone(d, "a")
		m.wantBooked(1, 1)
		if calls != 2 {
			t.Errorf("got %d calls, want the one of the transaction that was rolled back, too", calls)
		}
	})
}

// The server takes back the statement that waited too long, and nothing else.
func TestAHandlerThatKeepsAnErrorToItselfCommitsNoHalf(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		t.Run("over a Connector", func(t *testing.T) {
			m := openMarket(t, address, "")
			m.meetLock(true, errBack)
			m.wantBooked(1, 0)
		})
		t.Run("not without one", func(t *testing.T) {
			m := newMarket(t, sql.OpenDB(connectorTo(t, address, marketParams)))
			m.meetLock(true, nil)
			booked, left := m.number("SELECT SUM(booked) FROM "+m.orders), m.number("SELECT MIN(left_over) FROM "+m.stock)
			if booked != 1 || left != stockEach {
				t.Errorf("got %d orders and %d items left of each, want 1 and %d", booked, left, stockEach)
			}
		})
		t.Run("nor by returning it", func(t *testing.T) {
			m := newMarket(t, sql.OpenDB(connectorTo(t, address, marketParams)))
			m.meetLock(false, errBack)
			m.wantBooked(1, 0)
		})
	})
}

// meetLock delivers an order whose item is locked to a handler that ignores that,
// or does not, and wants this error.
func (m *market) meetLock(ignore bool, want error) {
	m.t.Helper()
	m.expect("a")
	other := m.begun()
	m.ok(m.take(m.t.Context(), other, "a"))
	d := m.togetherWith(func(ctx context.Context, tx *sql.Tx, no string) error {
		err := m.book(ctx, tx, no)
		if !isNumber(err, lockTimeout) {
			m.t.Errorf("got %v, want the server's error %d", err, lockTimeout)
		}
		if ignore {
			return nil
		}
		return err
	})
	if err := d(m.t.Context(), "a"); !errors.Is(err, want) {
		m.t.Errorf("got %v, want %v", err, want)
	}
	m.ok(other.Rollback())
}

// Different orders are different keys: their common rows are locked by the
// database alone. Under REPEATABLE READ late versions of MariaDB notice.
func TestARecordDoesNotKeepDifferentOrdersFromReadingBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "READ-COMMITTED")
		meeting := make(chan bool)
		d := m.togetherWith(func(ctx context.Context, tx *sql.Tx, _ string) error {
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
		})
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

func TestACopyThatWaitsHoldsAConnection(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		var d delivery
		var copies sync.WaitGroup
		running := false
		d = m.togetherWith(func(context.Context, *sql.Tx, string) error {
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
		})
		m.ok(d(t.Context(), "a"))
		copies.Wait()
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
	d = m.togetherWith(func(ctx context.Context, tx *sql.Tx, no string) error {
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
	})
	return d
}
