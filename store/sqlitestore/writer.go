package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// writer is the connection that all write transactions use, with its statements.
// It is not safe for concurrent use. Its statements run without a context: they
// neither wait for other connections nor may they be left half way.
type writer struct {
	conn *sql.Conn

	beginning, commit, undo              *sql.Stmt
	selectRow, insert, update, deleteRow *sql.Stmt
}

const (
	findQuery   = `SELECT ` + rowColumns + ` FROM dedup_record WHERE key_hash = ?`
	insertQuery = `INSERT INTO dedup_record (` + rowColumns + `, key_hash, application, topic, tag, id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateQuery = `UPDATE dedup_record SET (` + rowColumns + `) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE key_hash = ?`
)

// newWriter prepares the statements on c, which it owns from now on, also when
// it fails.
func newWriter(ctx context.Context, c *sql.Conn, table string) (*writer, error) {
	w := &writer{conn: c}
	for to, text := range map[**sql.Stmt]string{
		&w.beginning: `BEGIN IMMEDIATE`,
		&w.commit:    `COMMIT`,
		&w.undo:      `ROLLBACK`,
		&w.selectRow: findQuery,
		&w.insert:    insertQuery,
		&w.update:    updateQuery,
		&w.deleteRow: `DELETE FROM dedup_record WHERE key_hash = ?`,
	} {
		stmt, err := c.PrepareContext(ctx, named(text, table))
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		*to = stmt
	}
	return w, nil
}

// named is a statement with the name of the table.
func named(text, table string) string {
	return strings.ReplaceAll(text, "dedup_record", `"`+table+`"`)
}

// close ends the connection. It does not go back to where it is from, because
// its settings are not those that others expect.
func (w *writer) close() error {
	var errs []error
	for _, s := range []*sql.Stmt{w.beginning, w.commit, w.undo, w.selectRow, w.insert, w.update, w.deleteRow} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, discard(w.conn))...)
}

// discard closes a connection past its pool.
func discard(c *sql.Conn) error {
	err := c.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

func (w *writer) begin() error {
	_, err := w.beginning.Exec()
	return err
}

// rollback undoes what there is. Where SQLite has done so already there is
// nothing, which is an error that says nothing.
func (w *writer) rollback() { _, _ = w.undo.Exec() }

// apply does all calls in the transaction that has begun, and ends it.
func (w *writer) apply(calls []*call) (store.Class, error) {
	changed, err := w.work(calls)
	if err != nil {
		w.rollback()
		return classify(err), err
	}
	if !changed {
		w.rollback()
		return 0, nil
	}
	if _, err := w.commit.Exec(); err != nil {
		w.rollback()
		return classifyCommit(err), err
	}
	return 0, nil
}

// work does all calls, and tells whether there is anything to commit. The time
// is taken once the lock is held: of two transactions the later has the later.
func (w *writer) work(calls []*call) (changed bool, err error) {
	now := time.Now().UnixMilli()
	met := make(map[hash]*found, len(calls))
	var order []*found // in which they are written
	for _, c := range calls {
		if c.alone != nil {
			return c.alone(w, now)
		}
		for i := range c.steps {
			s := &c.steps[i]
			f := met[s.hash]
			if f == nil {
				if f, err = w.find(s); err != nil {
					return false, err
				}
				met[s.hash] = f
				order = append(order, f)
			}
			f.changed = s.decide(&f.row, now) || f.changed
		}
	}
	for _, f := range order {
		if f.changed {
			changed = true
			if err := w.write(f); err != nil {
				return false, err
			}
		}
	}
	return changed, nil
}

// found is a record as it is read and then as it is to be.
type found struct {
	step    *step
	row     sqlrecord.Row
	exists  bool
	changed bool
}

func (w *writer) find(s *step) (*found, error) {
	f := &found{step: s}
	var v values
	switch err := w.selectRow.QueryRow(s.hash[:]).Scan(v.targets()...); {
	case errors.Is(err, sql.ErrNoRows):
		return f, nil
	case err != nil:
		return nil, err
	}
	f.row, f.exists = v.row(), true
	return f, nil
}

// write makes the table say what f says. The zero row is one that is not there.
func (w *writer) write(f *found) (err error) {
	key := f.step.hash[:]
	switch k := f.step.key; {
	case f.row == sqlrecord.Row{}:
		_, err = w.deleteRow.Exec(key)
	case f.exists:
		_, err = w.update.Exec(append(arguments(&f.row), key)...)
	default:
		_, err = w.insert.Exec(append(arguments(&f.row), key,
			[]byte(k.Application), []byte(k.Topic), []byte(k.Tag), []byte(k.ID))...)
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
