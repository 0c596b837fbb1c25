package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync/atomic"
)

// Connector returns c with connections that tell [Store.Transact] of the errors
// that its callback meets: pass it to sql.OpenDB. A transaction then takes two round
// trips less, because without an error the server cannot have undone it.
//
// And a callback that keeps an error to itself commits no half: after a deadlock and
// the like, which undo the transaction, and after a lock wait timeout, which undoes
// one statement, its further statements are refused and everything is rolled back.
// Otherwise the server would execute each by itself after a deadlock, and Transact
// commit what is left after a timeout. Of an error that a stored procedure handles
// nobody is told: then the record is looked for, but nothing is refused.
//
// The connections are for the rest what those of c are, except to the function of
// [database/sql.Conn.Raw].
//
// c is that of a driver like go-sql-driver/mysql or of a wrapper around it.
// Connections that lack what those have are left as they are.
func Connector(c driver.Connector) driver.Connector { return connector{c} }

type connector struct{ driver.Connector }

// Connect makes a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if full, ok := conn.(fullConn); ok {
		return &watchedConn{fullConn: full}, err
	}
	return conn, err
}

// Close closes the wrapped connector if it can be.
func (c connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// watch is told what goes wrong in the transaction that is begun under a context
// which has it.
type watch struct {
	told   atomic.Bool // the connection is a watchedConn
	failed atomic.Bool // something has: the server may have undone the transaction
	over   atomic.Bool // it has, or has undone a part of it

	ending atomic.Pointer[context.Context] // of the commit, or of the rollback
}

type watchKey struct{}

// doubtful reports whether the transaction may have been undone.
func (w *watch) doubtful() bool { return !w.told.Load() || w.failed.Load() }

// fullConn is what the connections of the driver can do.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// watchedConn tells a watch of errors. Package sql serialises its calls.
type watchedConn struct {
	fullConn
	watch *watch // of the transaction that is open, or nil
	open  bool   // a transaction may be open that should not be
	blind bool   // it has prepared a statement that cannot be watched
}

// note tells of an error, and returns it.
func (c *watchedConn) note(err error) error {
	if err == nil || c.watch == nil || errors.Is(err, driver.ErrSkip) || err == io.EOF {
		return err
	}
	c.watch.failed.Store(true)
	if undoes(err) {
		c.watch.over.Store(true)
	}
	return err
}

// refused is the error of a statement that must not be executed.
func (c *watchedConn) refused() error {
	if c.open { // a wrapper hides IsValid
		return driver.ErrBadConn
	}
	if c.watch != nil && c.watch.over.Load() {
		return errRefused
	}
	return nil
}

// errRefused is what a callback is told that goes on.
var errRefused = errors.New("mysqlstore: a deadlock, a lock wait timeout or the like has ended this" +
	" transaction: return that error")

// BeginTx begins a transaction, which is watched if ctx asks for it.
func (c *watchedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.refused(); err != nil {
		return nil, err
	}
	tx, err := c.fullConn.BeginTx(ctx, o)
	w, _ := ctx.Value(watchKey{}).(*watch)
	if err != nil || w == nil {
		return tx, err
	}
	w.told.Store(true)
	w.failed.Store(c.blind)
	c.watch = w
	return watchedTx{tx, c, w}, nil
}

// IsValid reports whether the connection may be used again.
func (c *watchedConn) IsValid() bool { return !c.open && c.fullConn.IsValid() }

// ExecContext executes a statement.
func (c *watchedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.refused(); err != nil {
		return nil, err
	}
	c.unwatched(silent(query))
	result, err := c.fullConn.ExecContext(ctx, query, args)
	return result, c.note(err)
}

// QueryContext executes a query.
func (c *watchedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.refused(); err != nil {
		return nil, err
	}
	c.unwatched(silent(query))
	rows, err := c.fullConn.QueryContext(ctx, query, args)
	return c.rows(rows, err)
}

// PrepareContext prepares a statement.
func (c *watchedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.refused(); err != nil {
		return nil, err
	}
	stmt, err := c.fullConn.PrepareContext(ctx, query)
	if err := c.note(err); err != nil {
		return nil, err
	}
	if full, ok := stmt.(fullStmt); ok {
		return watchedStmt{full, c, silent(query)}, nil
	}
	c.blind = true
	c.unwatched(true)
	return stmt, nil
}

// unwatched makes the open transaction doubtful if something in it cannot be
// watched.
func (c *watchedConn) unwatched(something bool) {
	if something && c.watch != nil {
		c.watch.failed.Store(true)
	}
}

// silent reports whether a statement may meet an error and tell nobody: procedures
// have handlers for errors, and so has a block of MariaDB. A look too many, because
// a column has such a name, does no harm.
func silent(query string) bool { return mentions(query, "call") || mentions(query, "handler") }

// mentions copies nothing: statements may be large.
func mentions(query, word string) bool {
	for i := 0; i+len(word) <= len(query); i++ {
		if query[i]|0x20 == word[0] && strings.EqualFold(query[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// watchedTx ends under the context that its watch has for that: those of package
// sql have none.
type watchedTx struct {
	driver.Tx
	conn  *watchedConn
	watch *watch
}

// Commit commits, unless it is the callback who wants that.
func (t watchedTx) Commit() error {
	return t.end("COMMIT", func() error {
		t.conn.open = true
		return errEnded
	})
}

// Rollback rolls back.
func (t watchedTx) Rollback() error { return t.end("ROLLBACK", t.Tx.Rollback) }

func (t watchedTx) end(statement string, otherwise func() error) error {
	t.conn.watch = nil
	ctx := t.watch.ending.Load()
	if ctx == nil {
		return otherwise()
	}
	_, err := t.conn.fullConn.ExecContext(*ctx, statement, nil)
	// The driver sends nothing under a context that has ended, for example. Another
	// transaction on this connection would commit what is open.
	t.conn.open = err != nil
	return err
}
