package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// What a row lock and an optimistic lock do not do.

// begun is a transaction that is rolled back at the end of the test if it has not
// been committed.
func (m *market) begun() *sql.Tx {
	m.t.Helper()
	tx, err := m.db.BeginTx(context.Background(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = tx.Rollback() }) // an error means that it has ended
	return tx
}

func (m *market) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func TestACopyWaitsForARowLockAndIsRefusedThen(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		m.expect("a")
		first := m.begun()
		m.ok(m.bookLocked(t.Context(), first, "a"))
		for name, copyOf := range map[string]delivery{"a row lock": m.rowLock(), "a condition": m.condition()} {
			began := time.Now()
			if err := copyOf(t.Context(), "a"); !isNumber(err, lockTimeout) {
				t.Errorf("%s: got %v, want the server's error %d", name, err, lockTimeout)
			}
			if took := time.Since(began); took < 900*time.Millisecond {
				t.Errorf("%s: refused after %v, want the second that the server waits for a lock", name, took)
			}
		}
		m.ok(first.Commit())
		m.ok(m.rowLock()(t.Context(), "a"))
		m.wantBooked(1, 1)
	})
}

// missing locks a row that is not there yet, to insert it then.
func (m *market) missing(tx *sql.Tx, no string) {
	m.t.Helper()
	err := tx.QueryRow("SELECT status FROM "+m.orders+" WHERE no = ? FOR UPDATE", no).Scan(new(string))
	if !errors.Is(err, sql.ErrNoRows) {
		m.t.Fatalf("got %v, want no order", err)
	}
}

func TestALockOnARowThatIsNotThereLetsTwoInsertsThrough(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "READ-COMMITTED")
		m.execute("ALTER TABLE " + m.orders + " DROP PRIMARY KEY, ADD KEY (no)")
		first, second := m.begun(), m.begun()
		for _, tx := range []*sql.Tx{first, second} {
			m.missing(tx, "a")
		}
		for _, tx := range []*sql.Tx{first, second} {
			_, err := tx.Exec("INSERT INTO " + m.orders + " (no, booked) VALUES ('a', 1)")
			m.ok(errors.Join(err, tx.Commit()))
		}
		if got := m.number("SELECT COUNT(*) FROM " + m.orders); got != 2 {
			t.Errorf("got %d orders, want both of them", got)
		}
	})
}

func TestALockOnARowThatIsNotThereDeadlocksWithOtherOrders(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "REPEATABLE-READ")
		first, second := m.begun(), m.begun()
		m.missing(first, "a")
		m.missing(second, "b") // the same gap
		ends := make(chan error, 2)
		insert := func(tx *sql.Tx, no string) {
			_, err := tx.Exec("INSERT INTO " + m.orders + " (no, booked) VALUES ('" + no + "', 1)")
			ends <- err
		}
		go insert(first, "a")
		go insert(second, "b")
		one, other := <-ends, <-ends
		if one == nil {
			one, other = other, one
		}
		if !isNumber(one, deadlock) || other != nil {
			t.Errorf("got %v and %v, want the server's error %d and none", one, other, deadlock)
		}
	})
}

func TestAWriterThatTakesNoLockBooksASecondTime(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for name, mode := range map[string]func(*market) delivery{
			"a row lock": (*market).rowLock, "a condition": (*market).condition, "a version": (*market).versions,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := openMarket(t, address, "READ-COMMITTED")
				m.expect("a")
				heedless := m.begun()
				status, _, err := m.look(t.Context(), heedless, "a")
				m.ok(err)
				m.ok(mode(m)(t.Context(), "a"))
				if status != "new" {
					t.Fatalf("got %s, want the order new", status)
				}
				m.ok(m.book(t.Context(), heedless, "a"))
				m.ok(heedless.Commit())
				m.wantBooked(1, 2)
			})
		}
	})
}

// No state says which message has been added already.
func TestLocksDoNotRememberWhatWasAdded(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for name, mode := range map[string]func(*market) delivery{
			"a row lock": func(m *market) delivery {
				return m.byHand(func(ctx context.Context, tx *sql.Tx, no string) error {
					query := "SELECT booked FROM " + m.orders + " WHERE no = ? FOR UPDATE"
					if err := tx.QueryRowContext(ctx, query, no).Scan(new(int)); err != nil {
						return err
					}
					return m.book(ctx, tx, no)
				})
			},
			"a version": func(m *market) delivery {
				return m.byHand(func(ctx context.Context, tx *sql.Tx, no string) error {
					_, version, err := m.look(ctx, tx, no)
					if err != nil {
						return err
					}
					return m.bookVersion(ctx, tx, no, version)
				})
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := openMarket(t, address, "")
				m.expect("a")
				m.copies(mode(m), []string{"a"}, 8)
				m.wantBooked(1, 8)
			})
		}
		t.Run("a record does", func(t *testing.T) {
			t.Parallel()
			m := openMarket(t, address, "")
			m.expect("a")
			m.copies(m.together(), []string{"a"}, 8)
			m.wantBooked(1, 1)
		})
	})
}

func TestAStateThatComesBackLetsALateCopyThrough(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for name, c := range map[string]struct {
			mode func(*market) delivery
			want int
		}{
			"a row lock":            {(*market).rowLock, 2},
			"a condition":           {(*market).condition, 2},
			"a version":             {(*market).versions, 2},
			"one local transaction": {(*market).together, 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := openMarket(t, address, "")
				m.expect("a")
				d := c.mode(m)
				m.untilDone(d, "a")
				m.execute("UPDATE " + m.orders + " SET status = 'new'") // such as: reopened
				m.untilDone(d, "a")
				m.wantBooked(1, c.want)
			})
		}
	})
}

func TestAnOptimisticLockRefusesWhoeverCommitsSecond(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "READ-COMMITTED")
		m.expect("a")
		first, second := m.begun(), m.begun()
		for _, tx := range []*sql.Tx{first, second} {
			_, version, err := m.look(t.Context(), tx, "a")
			m.ok(err)
			if version != 0 {
				t.Fatalf("got version %d, want 0", version)
			}
		}
		m.ok(m.bookVersion(t.Context(), first, "a", 0))
		m.ok(first.Commit())
		if err := m.bookVersion(t.Context(), second, "a", 0); !errors.Is(err, errConflict) {
			t.Errorf("got %v, want a conflict, however much of its work was done", err)
		}
		m.ok(second.Rollback())
		m.wantBooked(1, 1)
	})
}

func TestAConditionDoesNotTellADoneOrderFromAMissingOne(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m := openMarket(t, address, "")
		m.ok(m.condition()(t.Context(), "a")) // before the order is there
		m.expect("a")
		m.wantBooked(1, 0)
	})
}
