package mysqlstore

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
)

// lone is the statement for one claim, one complete or one transaction, prepared:
// to read it takes the server longer than to execute it.
type lone struct {
	stmt    atomic.Pointer[sql.Stmt]
	mu      sync.Mutex  // held while it is being prepared
	refused atomic.Bool // the server, or what is before it, prepares no statements
}

// prepared is the statement for a call that goes by itself, or nil if it has
// none, or none yet.
func (s *Store) prepared(ctx context.Context, c *call) *sql.Stmt {
	l := s.loneOf(c.op)
	if l == nil || l.refused.Load() {
		return nil
	}
	if stmt := l.stmt.Load(); stmt != nil || !l.mu.TryLock() {
		return stmt
	}
	defer l.mu.Unlock()
	stmt, err := s.db.PrepareContext(ctx, s.loneText(c.op))
	if err != nil { // the call itself will meet it, too, unless it is about preparing
		l.refused.Store(neverPrepares(err))
		return nil
	}
	l.stmt.Store(stmt)
	return stmt
}

// loneOf is the statement for an op, nil if it has none.
func (s *Store) loneOf(op op) *lone {
	switch op {
	case opClaim:
		return &s.lone[0]
	case opComplete:
		return &s.lone[1]
	case opTransact:
		return &s.lone[2]
	}
	return nil
}

// neverPrepares reports whether an error says that statements cannot be prepared,
// or not as many.
func neverPrepares(err error) bool {
	n := number(err)
	return n == 1295 || n == erManyPrepared || n == 1047
}

// alone makes a call with its prepared statement.
func (s *Store) alone(ctx context.Context, stmt *sql.Stmt, c *call) {
	args := s.loneArgs(c)
	result, err := repeated(ctx, func() (sql.Result, error) { return stmt.ExecContext(ctx, args...) })
	if err == nil {
		err = c.answered(result)
	}
	s.unprepared(c.op, err)
	if err != nil {
		c.failed(err)
	}
}

// unprepared notes that a statement could not be prepared on a connection that is
// new: from now on its text is sent.
func (s *Store) unprepared(op op, err error) {
	if neverPrepares(err) {
		s.loneOf(op).refused.Store(true)
	}
}

// loneText is the row of appendRow with a place for each value.
func (s *Store) loneText(op op) string {
	text := s.texts.upsert[0] + "("
	for range s.layout.names {
		text += "?,"
	}
	status := "'CONSUMING'"
	if op != opClaim {
		status = "'CONSUMED'"
	}
	text += status + ",?,?,?,?,?,?,?," + now + "," + now + "+?"
	if s.compat() {
		text += ",?"
	}
	if text += ")"; op == opTransact { // which a record of the key makes fail
		return text
	}
	return text + s.texts.upsert[1]
}

// loneArgs are the values of the row of c.
func (s *Store) loneArgs(c *call) []any {
	args := make([]any, 0, 16)
	names := s.nameValues(c)
	for _, value := range names[:len(s.layout.names)] {
		args = append(args, []byte(value))
	}
	args = append(args, c.token[:])
	numbers, expires := s.rowValues(c)
	for _, n := range numbers {
		args = append(args, n)
	}
	args = append(args, expires)
	if s.compat() {
		args = append(args, s.skewOf(c))
	}
	return args
}
