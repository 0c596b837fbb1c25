package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// What sample/README.md tells of each mode is shown here and in the other files
// that begin with modes_. The modes first, then what each does not do.

func (m *market) listener(records store.Store) *listener.DedupConcurrentListener {
	m.t.Helper()
	l, err := listener.NewDedupConcurrentListener("market", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

// change is what a transaction does for an order.
type change func(ctx context.Context, tx *sql.Tx, no string) error

// byHand is a transaction that the library knows nothing of.
func (m *market) byHand(do change) delivery {
	return func(ctx context.Context, no string) error {
		tx, err := m.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after the commit
		if err := do(ctx, tx, no); err != nil {
			return err
		}
		return tx.Commit()
	}
}

// beside keeps a record beside the business transaction.
func (m *market) beside() delivery { return m.besideThe(m.byHand(m.book)) }

func (m *market) besideThe(effect delivery) delivery {
	return through(m.listener(m.records).Each(func(ctx context.Context, msg *primitive.MessageExt) error {
		return effect(ctx, msg.GetKeys())
	}))
}

// together commits the record with the business change.
func (m *market) together() delivery { return m.togetherWith(m.book) }

func (m *market) togetherWith(do change) delivery {
	return through(m.listener(m.records).Tx(func(ctx context.Context, tx *sql.Tx, msg *primitive.MessageExt) error {
		return do(ctx, tx, msg.GetKeys())
	}))
}

// byIndex has the business's own unique index for a record. The library's own
// records are all lost: every delivery finds a store with nothing in it.
func (m *market) byIndex() delivery {
	effect := m.byHand(m.bookIndexed)
	return func(ctx context.Context, no string) error {
		empty, err := memstore.New(memstore.Options{})
		if err != nil {
			return err
		}
		return through(m.listener(empty).Each(func(ctx context.Context, msg *primitive.MessageExt) error {
			return effect(ctx, msg.GetKeys())
		}))(ctx, no)
	}
}

func (m *market) bookIndexed(ctx context.Context, tx *sql.Tx, no string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO "+m.entries+" VALUES (?)", no)
	if isNumber(err, duplicateEntry) {
		return dedup.AlreadyDone(err)
	}
	if err != nil {
		return err
	}
	return m.book(ctx, tx, no)
}

// What servers answer.
const (
	duplicateEntry = 1062
	lockTimeout    = 1205
	deadlock       = 1213
)

func isNumber(err error, n uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == n
}

// rowLock locks the order and looks at its state.
func (m *market) rowLock() delivery { return m.byHand(m.bookLocked) }

func (m *market) bookLocked(ctx context.Context, tx *sql.Tx, no string) error {
	var status string
	err := tx.QueryRowContext(ctx, "SELECT status FROM "+m.orders+" WHERE no = ? FOR UPDATE", no).Scan(&status)
	if err != nil || status != "new" {
		return err
	}
	return m.book(ctx, tx, no)
}

// condition changes the order only while it is new.
func (m *market) condition() delivery { return m.byHand(m.bookNew) }

func (m *market) bookNew(ctx context.Context, tx *sql.Tx, no string) error {
	changed, err := affected(tx.ExecContext(ctx,
		"UPDATE "+m.orders+" SET status = 'booked', booked = booked + 1 WHERE no = ? AND status = 'new'", no))
	if err != nil || changed == 0 {
		return err
	}
	return m.take(ctx, tx, no)
}

// versions reads the order, and writes it if it is still the one that was read.
func (m *market) versions() delivery {
	return m.byHand(func(ctx context.Context, tx *sql.Tx, no string) error {
		status, version, err := m.look(ctx, tx, no)
		if err != nil || status != "new" {
			return err
		}
		return m.bookVersion(ctx, tx, no, version)
	})
}

func (m *market) look(ctx context.Context, tx *sql.Tx, no string) (status string, version int, err error) {
	err = tx.QueryRowContext(ctx, "SELECT status, version FROM "+m.orders+" WHERE no = ?", no).Scan(&status, &version)
	return status, version, err
}

// errConflict is an order that somebody else has changed meanwhile.
var errConflict = errors.New("changed meanwhile")

func (m *market) bookVersion(ctx context.Context, tx *sql.Tx, no string, version int) error {
	changed, err := affected(tx.ExecContext(ctx, "UPDATE "+m.orders+
		" SET status = 'booked', booked = booked + 1, version = version + 1 WHERE no = ? AND version = ?", no, version))
	if err != nil {
		return err
	}
	if changed == 0 {
		return errConflict
	}
	return m.take(ctx, tx, no)
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func TestEveryModeBooksEachOrderOnceWhateverCopiesCome(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for name, mode := range map[string]func(*market) delivery{
			"a record beside the effect": (*market).beside,
			"one local transaction":      (*market).together,
			"a unique index":             (*market).byIndex,
			"a row lock":                 (*market).rowLock,
			"a condition":                (*market).condition,
			"a version":                  (*market).versions,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m, all := openMarket(t, address, ""), numbers(200)
				m.expect(all...)
				m.copies(mode(m), all, 8)
				m.wantBooked(len(all), 1)
			})
		}
	})
}

// Without it nobody would know that the test above delivers copies at all.
func TestWithoutAModeEveryCopyIsBooked(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		m, all := openMarket(t, address, ""), numbers(200)
		m.expect(all...)
		m.copies(m.byHand(m.book), all, 8)
		m.wantBooked(len(all), 8)
	})
}

func TestOneLocalTransactionIsExactUnderEveryIsolationLevel(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, address string) {
		for _, level := range []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"} {
			t.Run(level, func(t *testing.T) {
				t.Parallel()
				m, all := openMarket(t, address, level), numbers(50)
				m.expect(all...)
				m.copies(m.together(), all, 8)
				m.wantBooked(len(all), 1)
			})
		}
	})
}
