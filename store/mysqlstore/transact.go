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
// The record is the first thing that the transaction writes. If the server has
// undone the transaction in between, because of a deadlock that do did not report,
// nothing is committed: the record is looked for before the commit, or, where the
// pool is one over a [Connector], only after an error that do met.
//
// A do that ends the transaction itself gets an error, and nothing is committed
// over a Connector. Statements that commit, such as CREATE TABLE, nobody can take
// back: if do fails after one, the error tells that the record says done already.
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
	defer x.rollback(ctx) // does nothing after the commit
	if v.State != store.Claimed {
		return v, nil
	}
	if err := do(ctx, x.tx, v.Attempt); err != nil {
		return v, x.takeBack(ctx, err)
	}
	ending, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := x.complete(ending); err != nil && !errors.Is(err, sql.ErrTxDone) { // which commit looks into
		return v, s.transactFailed(err, store.NotApplied)
	}
	return v, x.commit(ending)
}

// transaction is one that the record of a key is part of.
type transaction struct {
	store  *Store
	record call // says done; its op is opTransact
	tx     *sql.Tx
	watch  *watch
	fresh  bool // there was no record: the new one says done already
}

// errUndone is a transaction whose record has gone, or a part of it.
var errUndone = errors.New("a deadlock, a lock wait timeout or the like has ended the" +
	" transaction, and the callback has not returned that error")

// errEnded is a transaction that its callback has ended.
var errEnded = errors.New("the callback has ended the transaction itself: leave Commit and Rollback out," +
	" and return nil or an error")

// errCommitted is what is left of a callback that has failed after such an end.
var errCommitted = errors.New("mysqlstore: the record says done all the same: before it failed the callback has ended" +
	" its transaction itself, by Commit or by a statement that commits, such as CREATE TABLE")

// takeBack rolls back because the callback has failed, and returns its error.
func (x *transaction) takeBack(ctx context.Context, failure error) error {
	x.rollback(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if mine, err := x.isMine(ctx, x.store.db, ""); err == nil && mine {
		return errors.Join(failure, errCommitted)
	}
	return failure
}

// begin begins a transaction that claims. Nearly always there is no record: one
// that says done is inserted at once. Otherwise the transaction is begun again,
// because a refused INSERT keeps the row locked for readers, and two of them would
// deadlock. Before the callback has run a deadlock can be repeated.
func (x *transaction) begin(ctx context.Context) (v store.Verdict, err error) {
	x.store.prepared(ctx, &x.record) // before it is on a connection, of which there may be one
	claim := x.insert
	for try := 0; ; try++ {
		x.watch = new(watch)
		if x.tx, err = x.store.db.BeginTx(context.WithValue(ctx, watchKey{}, x.watch), nil); err != nil {
			return v, x.store.noConn(err)
		}
		if v, err = claim(ctx); err == nil {
			return v, nil
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: the row of the record may be locked for longer than this call waits:"+
				" see innodb_lock_wait_timeout", err)
		}
		x.rollback(ctx)
		if number(err) == erDuplicate && x.fresh {
			x.prepareRest(ctx)
			claim, x.fresh = x.claim, false
			continue
		}
		if !deadlock(err) || try >= deadlocks || !pause(ctx, try) {
			return v, err
		}
	}
}

// prepareRest prepares what a transaction needs that finds a record.
func (x *transaction) prepareRest(ctx context.Context) {
	for _, op := range []op{opClaim, opComplete} {
		x.store.prepared(ctx, &call{op: op})
	}
}

// insert makes a record that says done.
func (x *transaction) insert(ctx context.Context) (v store.Verdict, err error) {
	x.fresh = true
	_, err = x.execute(ctx, &x.record, func() string {
		return x.store.texts.upsert[0] + string(x.store.appendRow(nil, &x.record))
	})
	if lockTimeout(err) {
		return store.Verdict{State: store.Busy, Left: lockedLeft}, nil
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
// written, and has the record say done. It looks before it writes: where the server
// has undone the transaction what is written would be committed by itself.
func (x *transaction) complete(ctx context.Context) error {
	if x.watch.over.Load() {
		return errUndone
	}
	if x.watch.doubtful() {
		if err := x.look(ctx); err != nil {
			return err
		}
	}
	if x.fresh {
		return nil
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

// look wants the record to be there that the transaction has claimed or inserted.
// It changes nothing: decision is 0.
func (x *transaction) look(ctx context.Context) error {
	text := "UPDATE " + x.store.table() + " SET decision = LAST_INSERT_ID(1) - 1 WHERE "
	result, err := x.tx.ExecContext(ctx, string(x.store.appendOwned([]byte(text), []*call{&x.record})))
	if err != nil {
		return err
	}
	if found, err := result.LastInsertId(); err != nil || found == 0 {
		return errors.Join(errUndone, err)
	}
	return nil
}

// upsert makes a claim or a complete in the transaction.
func (x *transaction) upsert(ctx context.Context, c *call) error {
	result, err := x.execute(ctx, c, func() string { return x.store.upsert([]*call{c}) })
	if err == nil {
		err = c.answered(result)
	}
	if err == nil {
		return c.err
	}
	c.failed(err)
	return c.err
}

// execute executes the prepared statement of c, or else its text.
func (x *transaction) execute(ctx context.Context, c *call, text func() string) (sql.Result, error) {
	if stmt := x.store.prepared(ctx, c); stmt != nil {
		result, err := x.tx.StmtContext(ctx, stmt).ExecContext(ctx, x.store.loneArgs(c)...)
		if !neverPrepares(err) {
			return result, err
		}
		x.store.unprepared(c.op, err) // nothing was executed
	}
	return x.tx.ExecContext(ctx, text())
}

// commit commits. When the answer is lost the record tells what has happened.
func (x *transaction) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return x.store.transactFailed(err, store.NotApplied)
	}
	err := x.end(ctx)
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTime)
	defer cancel()
	for try := 0; ; try++ {
		mine, errRead := x.readBack(ctx)
		switch {
		case errRead == nil && mine:
			return nil
		case errRead == nil:
			return x.store.transactFailed(err, store.NotApplied)
		}
		if !pause(ctx, try) {
			return x.store.transactFailed(err, store.Unknown)
		}
	}
}

// end sends COMMIT under ctx. Commit of package sql has no context, and a
// connection that does not give it one needs a Rollback to be free.
func (x *transaction) end(ctx context.Context) error {
	if x.watch.told.Load() {
		x.watch.ending.Store(&ctx)
		return x.tx.Commit()
	}
	_, err := x.tx.ExecContext(ctx, "COMMIT")
	_ = x.tx.Rollback() // ends the connection's part in it, whatever has become of that
	return err
}

// rollback sends ROLLBACK, as end sends COMMIT. The server does it by itself, too,
// when the connection is closed because that takes too long.
func (x *transaction) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	x.watch.ending.Store(&ctx)
	if !x.watch.told.Load() {
		_, _ = x.tx.ExecContext(ctx, "ROLLBACK")
	}
	_ = x.tx.Rollback()
}

// How long the end of a transaction may take, and how long it is looked for when
// its answer was lost. The callback's context may have no end, and then a lost reply
// would not be noticed before the network gives up.
const endTime, readBackTime = 5 * time.Second, 5 * time.Second

// readBack reports whether the transaction has been committed. It waits for one
// that has not ended.
func (x *transaction) readBack(ctx context.Context) (bool, error) {
	tx, err := x.store.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() // it has only read
	return x.isMine(ctx, tx, " LOCK IN SHARE MODE")
}

// isMine reports whether the record says that the transaction has completed it.
func (x *transaction) isMine(ctx context.Context, from querier, lock string) (bool, error) {
	text := "SELECT 1 FROM " + x.store.table() + " WHERE " +
		string(x.store.appendOwned(nil, []*call{&x.record})) + " AND status = 'CONSUMED'" + lock
	rows, err := from.QueryContext(ctx, text)
	if err != nil {
		return false, err
	}
	defer rows.Close() // Err has what matters
	return rows.Next(), rows.Err()
}

// transactFailed is the error of a transaction, of this class unless what the
// server said is known to be permanent.
func (s *Store) transactFailed(err error, class store.Class) error {
	if errors.Is(err, sql.ErrTxDone) {
		err = errEnded
	}
	if known, _ := classify(err); known == store.Permanent {
		class = known
	}
	if err == store.ErrNotOwner {
		return err
	}
	return &store.Error{Driver: "mysqlstore", Op: "transact", Class: class, Err: cause(err, nil)}
}
