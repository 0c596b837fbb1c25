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
// The record is the first thing that the transaction writes, and the last thing
// that it looks after: if the server has undone the transaction in between,
// because of a deadlock that do did not report, nothing is committed.
func (s *Store) Transact(ctx context.Context, r store.TxRequest,
	do func(ctx context.Context, tx *sql.Tx, attempt int) error) (store.Verdict, error) {
	if err := r.Validate(); err != nil {
		return store.Verdict{}, fmt.Errorf("mysqlstore: transact: %w", err)
	}
	x := &transaction{store: s}
	s.call(&x.record, opTransact, r.Key, r.Token)
	x.record.keep = r.Keep.Milliseconds()
	v, err := x.begin(ctx)
	if err != nil {
		return store.Verdict{}, s.transactFailed(err, store.NotApplied)
	}
	defer x.tx.Rollback() // does nothing after the commit
	if v.State != store.Claimed {
		return v, nil
	}
	if err := do(ctx, x.tx, v.Attempt); err != nil {
		return v, err
	}
	if err := x.complete(ctx); err != nil {
		return v, s.transactFailed(err, store.NotApplied)
	}
	return v, s.commit(ctx, x.tx, &x.record)
}

// transaction is one that the record of a key is part of.
type transaction struct {
	store  *Store
	record call // says done; its op is opTransact
	tx     *sql.Tx
	fresh  bool // there was no record: the new one says done already
}

// errUndone is a transaction whose record has gone.
var errUndone = errors.New("the server has undone the transaction while the callback ran," +
	" which did not return that error")

// begin begins a transaction that claims. Nearly always there is no record: one
// that says done is inserted at once. Otherwise the transaction is begun again,
// because a refused INSERT keeps the row locked for readers, and two of them would
// deadlock. Before the callback has run a deadlock can be repeated.
func (x *transaction) begin(ctx context.Context) (v store.Verdict, err error) {
	claim := x.insert
	for try := 0; ; try++ {
		if x.tx, err = x.store.db.BeginTx(ctx, nil); err != nil {
			return v, noConn(err)
		}
		if v, err = claim(ctx); err == nil {
			return v, nil
		}
		_ = x.tx.Rollback() // nothing has been written
		if number(err) == erDuplicate && x.fresh {
			claim, x.fresh = x.claim, false
			continue
		}
		if !deadlock(err) || try >= deadlocks || !pause(ctx, try) {
			return v, err
		}
	}
}

// insert makes a record that says done, and sets a savepoint, which is gone if the
// server undoes the transaction.
func (x *transaction) insert(ctx context.Context) (v store.Verdict, err error) {
	x.fresh = true
	if stmt := x.store.prepared(ctx, &x.record); stmt != nil {
		_, err = x.tx.StmtContext(ctx, stmt).ExecContext(ctx, x.store.loneArgs(&x.record)...)
	} else {
		_, err = x.tx.ExecContext(ctx, x.store.texts.upsert[0]+string(x.store.appendRow(nil, &x.record)))
	}
	x.store.unprepared(opTransact, err)
	if lockTimeout(err) {
		return store.Verdict{State: store.Busy, Left: lockedLeft}, nil
	}
	if err == nil {
		_, err = x.tx.ExecContext(ctx, "SAVEPOINT dedup_record")
	}
	return store.Verdict{State: store.Claimed, Attempt: 1}, err
}

// claim takes over a record if it may.
func (x *transaction) claim(ctx context.Context) (store.Verdict, error) {
	claim := x.record
	claim.op, claim.keep = opClaim, 0
	claim.lease, claim.horizon = time.Minute.Milliseconds(), time.Minute.Milliseconds() // which nobody ever sees
	err := x.upsert(ctx, &claim)
	return claim.verdict, err
}

// complete finds out whether everything is still there that the transaction has
// written, and has the record say done.
func (x *transaction) complete(ctx context.Context) error {
	if x.fresh {
		_, err := x.tx.ExecContext(ctx, "RELEASE SAVEPOINT dedup_record")
		if number(err) == erNoSavepoint {
			return errUndone
		}
		return err
	}
	complete := x.record
	complete.op = opComplete
	if err := x.upsert(ctx, &complete); err != nil {
		return err
	}
	if complete.completion != store.Completed {
		return errUndone
	}
	return nil
}

// upsert makes a claim or a complete in the transaction.
func (x *transaction) upsert(ctx context.Context, c *call) error {
	var result sql.Result
	var err error
	if stmt := x.store.prepared(ctx, c); stmt != nil {
		result, err = x.tx.StmtContext(ctx, stmt).ExecContext(ctx, x.store.loneArgs(c)...)
	} else {
		result, err = x.tx.ExecContext(ctx, x.store.upsert([]*call{c}))
	}
	x.store.unprepared(c.op, err)
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
