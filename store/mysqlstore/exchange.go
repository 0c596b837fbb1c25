package mysqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	largest   = 128 // rows in one statement
	deadlocks = 8   // how often one statement is repeated after a deadlock
)

// exchange makes the calls: the releases, renewals, parks and fences first, so
// that nothing in a group is refused what another call of it gives up.
func (s *Store) exchange(ctx context.Context, calls []*call) {
	if len(calls) == 1 {
		if stmt := s.prepared(ctx, calls[0]); stmt != nil {
			s.alone(ctx, stmt, calls[0])
			s.reconnect(ctx, calls)
			return
		}
	}
	s.gathered(ctx, calls)
	s.reconnect(ctx, calls)
}

// gathered makes the calls on one connection.
func (s *Store) gathered(ctx context.Context, calls []*call) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		fail(calls, s.noConn(err))
		return
	}
	defer conn.Close() // gives it back to the pool
	slices.SortStableFunc(calls, s.order)
	for _, ran := range []bool{false, true} {
		s.chunks(ctx, conn, pick(calls, func(c *call) bool { return c.op == opRelease && c.ran == ran }),
			func(calls []*call) string { return s.owned(s.texts.release[at(ran)], calls) })
	}
	s.chunks(ctx, conn, pick(calls, func(c *call) bool { return c.op == opRenew }),
		func(calls []*call) string { return s.owned(s.texts.renew, calls) })
	for _, c := range calls {
		if c.op == opPark || c.op == opFence {
			s.attempt(ctx, conn, []*call{c}, s.parkOrFence)
		}
	}
	for _, c := range pick(calls, (*call).brief) {
		s.attempt(ctx, conn, []*call{c}, s.upsert)
	}
	s.chunks(ctx, conn, pick(calls, func(c *call) bool {
		return (c.op == opClaim || c.op == opComplete) && !c.brief()
	}), s.upsert)
}

// brief reports whether the record of a claim may be gone before it is read back.
func (c *call) brief() bool {
	const least = 10_000 // ms; a statement that takes longer has run into its deadline
	return c.op == opClaim && (c.lease+c.horizon < least || c.maxAttempts > 0 && c.keep < least)
}

// order is that of the primary key: statements that take rows in one order do
// not deadlock with each other.
func (s *Store) order(a, b *call) int {
	if !s.compat() {
		return bytes.Compare(a.id[:], b.id[:])
	}
	for i, value := range s.nameValues(a) {
		if c := strings.Compare(value, s.nameValues(b)[i]); c != 0 {
			return c
		}
	}
	return 0
}

// parkOrFence is the statement of a park or of a fence.
func (s *Store) parkOrFence(calls []*call) string {
	if calls[0].op == opFence {
		return s.owned(s.texts.fence, calls)
	}
	cut, keep := s.texts.park, strconv.FormatInt(calls[0].keep, 10)
	return s.owned([]string{cut[0] + keep + cut[1] + keep + cut[2], cut[3]}, calls)
}

// chunks makes calls of one kind, as many in a statement as it takes.
func (s *Store) chunks(ctx context.Context, conn *sql.Conn, calls []*call, statement func([]*call) string) {
	for chunk := range slices.Chunk(calls, largest) {
		s.attempt(ctx, conn, chunk, statement)
	}
}

// attempt makes calls in one statement. When one of them makes that fail, the
// others must not suffer: it is tried in halves, and, when somebody else holds a
// row for longer than the server waits, one by one.
func (s *Store) attempt(ctx context.Context, conn *sql.Conn, calls []*call, statement func([]*call) string) {
	err := s.statement(ctx, conn, calls, statement)
	switch {
	case err == nil:
	case len(calls) == 1:
		calls[0].failed(err)
	case len(calls) > 1 && lockTimeout(err) && ctx.Err() == nil:
		for _, c := range calls {
			s.attempt(ctx, conn, []*call{c}, statement)
		}
	case len(calls) > 1 && ofOneRow(err) && ctx.Err() == nil:
		s.attempt(ctx, conn, calls[:len(calls)/2], statement)
		s.attempt(ctx, conn, calls[len(calls)/2:], statement)
	default:
		fail(calls, err)
	}
}

// lockedLeft is what is left of the lease of a record that somebody keeps locked:
// nobody knows, but it is longer than the server's patience.
const lockedLeft = 2 * time.Second

// statement executes one statement and reads what became of its calls.
func (s *Store) statement(ctx context.Context, conn *sql.Conn, calls []*call, text func([]*call) string) error {
	switch {
	case len(calls) == 1:
		result, err := execute(ctx, conn, text(calls))
		if err == nil {
			err = calls[0].answered(result)
		}
		return err
	case calls[0].op == opRelease:
		return s.locked(ctx, conn, calls, text(calls))
	}
	if _, err := execute(ctx, conn, text(calls)); err != nil {
		return err
	}
	if err := s.readBack(ctx, conn, calls); err != nil {
		return applied{err}
	}
	return nil
}

// locked executes a statement and reads its records back before anybody else can
// change them: a released record that has gone by then looks like none.
func (s *Store) locked(ctx context.Context, conn *sql.Conn, calls []*call, text string) error {
	for try := 0; ; try++ {
		err := s.inTransaction(ctx, conn, calls, text)
		if !deadlock(err) || try == deadlocks || !pause(ctx, try) {
			return err
		}
	}
}

func (s *Store) inTransaction(ctx context.Context, conn *sql.Conn, calls []*call, text string) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	if err := s.readBack(ctx, tx, calls); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return applied{err}
	}
	return nil
}

// execute executes a statement. A deadlock undoes it, and the next try usually
// succeeds.
func execute(ctx context.Context, conn *sql.Conn, text string) (sql.Result, error) {
	return repeated(ctx, func() (sql.Result, error) { return conn.ExecContext(ctx, text) })
}

func repeated(ctx context.Context, execute func() (sql.Result, error)) (sql.Result, error) {
	for try := 0; ; try++ {
		result, err := execute()
		if !deadlock(err) || try == deadlocks || !pause(ctx, try) {
			return result, err
		}
	}
}

// pause waits between two tries, longer each time and never in step with other
// callers. It reports false when ctx ends first.
func pause(ctx context.Context, try int) bool {
	const least, most = 2 * time.Millisecond, 250 * time.Millisecond
	d := min(least<<try, most)
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func fail(calls []*call, err error) {
	for _, c := range calls {
		c.err = err
	}
}

// at is the index of a flag.
func at(flag bool) int {
	if flag {
		return 1
	}
	return 0
}

// reconnect closes the idle connections when the server has become a replica, so
// that the next calls look for the primary again.
func (s *Store) reconnect(ctx context.Context, calls []*call) {
	if !slices.ContainsFunc(calls, func(c *call) bool { return readOnly(c.err) }) {
		return
	}
	for range s.db.Stats().Idle {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return
		}
		_ = conn.Raw(func(any) error { return errBadConn }) // which closes it, and is what Raw returns
	}
}

// applied is the error of reading back what has been applied.
type applied struct{ error }

func (e applied) Unwrap() error { return e.error }

// errVanished is a record that was there for a claim and is not any more: it was
// another's and has expired or been forgotten.
var errVanished = errors.New("the record has gone meanwhile")
