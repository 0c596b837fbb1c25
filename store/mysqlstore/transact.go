package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Transact runs do in a transaction that the record is part of. Whoever asks for
// the same key meanwhile waits for its row, and is told Busy after the
// innodb_lock_wait_timeout of the pool. The user's tables must be reachable
// through the pool of the store, which needs a connection for each do that runs
// at once.
//
// The record is the first thing that the transaction writes and the last: if the
// server has undone it in between, because of a deadlock that do did not report,
// nothing is committed.
func (s *Store) Transact(ctx context.Context, r store.TxRequest,
	do func(ctx context.Context, tx *sql.Tx, attempt int) error) (store.Verdict, error) {
	if err := r.Validate(); err != nil {
		return store.Verdict{}, fmt.Errorf("mysqlstore: transact: %w", err)
	}
	var claim call
	s.call(&claim, opClaim, r.Key, r.Token)
	claim.lease, claim.horizon = time.Minute.Milliseconds(), time.Minute.Milliseconds() // which nobody ever sees
	tx, err := s.begin(ctx, &claim)
	if err != nil {
		return store.Verdict{}, s.transactFailed(err, store.NotApplied)
	}
	defer tx.Rollback() // does nothing after the commit
	if claim.verdict.State != store.Claimed {
		return claim.verdict, nil
	}
	if err := do(ctx, tx, claim.verdict.Attempt); err != nil {
		return claim.verdict, err
	}
	complete := claim
	complete.op, complete.keep = opComplete, r.Keep.Milliseconds()
	if err := s.within(ctx, tx, &complete); err != nil {
		return claim.verdict, s.transactFailed(err, store.NotApplied)
	}
	if complete.completion != store.Completed {
		return claim.verdict, s.transactFailed(errUndone, store.NotApplied)
	}
	return claim.verdict, s.commit(ctx, tx, &complete)
}

// errUndone is a transaction whose record has gone.
var errUndone = errors.New("the server has undone the transaction while the callback ran, which did not return that error")

// begin begins a transaction that claims. Before the callback has run a deadlock
// can be repeated.
func (s *Store) begin(ctx context.Context, claim *call) (*sql.Tx, error) {
	for try := 0; ; try++ {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return nil, noConn(err)
		}
		if err = s.within(ctx, tx, claim); err == nil {
			return tx, nil
		}
		_ = tx.Rollback() // nothing has been written
		if !deadlock(err) || try == deadlocks || !pause(ctx, try) {
			return nil, err
		}
	}
}

// within makes a claim or a complete in a transaction.
func (s *Store) within(ctx context.Context, tx *sql.Tx, c *call) error {
	var result sql.Result
	var err error
	if stmt := s.prepared(ctx, c); stmt != nil {
		result, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, s.loneArgs(c)...)
	} else {
		result, err = tx.ExecContext(ctx, s.upsert([]*call{c}))
	}
	if err == nil {
		err = c.answered(result)
	}
	if err == nil {
		return c.err
	}
	c.failed(err)
	return c.err
}

// commit commits. When the answer is lost the record tells what has happened,
// read so that a commit which is still on its way is waited for.
func (s *Store) commit(ctx context.Context, tx *sql.Tx, c *call) error {
	// Commit of package sql has no context.
	_, err := tx.ExecContext(ctx, "COMMIT")
	if err == nil {
		return nil
	}
	_ = tx.Rollback() // ends the connection's part in it, whatever has become of that
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTime)
	defer cancel()
	for try := 0; ; try++ {
		mine, errRead := s.isMine(ctx, c)
		switch {
		case errRead == nil && mine:
			return nil
		case errRead == nil:
			return s.transactFailed(err, store.NotApplied)
		}
		if !pause(ctx, try) {
			return s.transactFailed(err, store.Unknown)
		}
	}
}

// readBackTime is how long a commit whose answer was lost is looked for.
const readBackTime = 5 * time.Second

// isMine reports whether the record says that c's own token has completed it. It
// waits for transactions that have written the record and have not ended.
func (s *Store) isMine(ctx context.Context, c *call) (bool, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() // it has only read
	var n int
	text := "SELECT COUNT(*) FROM " + s.table() + " WHERE " + string(s.appendOwned(nil, []*call{c})) +
		" AND status = 'CONSUMED' LOCK IN SHARE MODE"
	err = tx.QueryRowContext(ctx, text).Scan(&n)
	return n == 1, err
}

// transactFailed is the error of a transaction, of this class unless what the
// server said is known to be permanent.
func (s *Store) transactFailed(err error, class store.Class) error {
	if known, _ := classify(err); known == store.Permanent {
		class = known
	}
	if err == store.ErrNotOwner {
		return err
	}
	return &store.Error{Driver: "mysqlstore", Op: "transact", Class: class, Err: cause(err, nil)}
}
