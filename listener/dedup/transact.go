package dedup

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ErrNoTransactions says that the store of a guard is no [store.Transactor].
var ErrNoTransactions = errors.New("dedup: the store has no transactions: use one in the database of the business data")

// errRolledBack is what a transaction is rolled back with whose callback must not
// run, or has not run.
var errRolledBack = errors.New("dedup: nothing to commit")

// transaction is what a delivery runs whose record is committed with its effect.
type transaction struct {
	run *run // the attempt is part of it
	fn  func(context.Context, *sql.Tx) error

	mu    sync.Mutex    // guards what follows
	ends  []func(TxEnd) // who wants to know the end
	ended bool
}

// Transacts reports whether the store of g is a [store.Transactor], which DoTx
// and DeliverTx need.
func (g *Guard) Transacts() bool { return g.transactor != nil }

// DoTx is [Guard.DeliverTx] without what else is known.
func (g *Guard) DoTx(
	ctx context.Context, k store.Key, p Policy, fn func(context.Context, *sql.Tx) error,
) (Outcome, error) {
	r := g.DeliverTx(ctx, Delivery{Key: k, Policy: p}, fn)
	return r.Outcome, r.Err
}

// DeliverTx runs fn in a transaction that the record of the key is part of, unless
// the effect is recorded or somebody else is at it. What fn writes through tx and
// the record are committed together: with the outcome Ran both are there, with
// Failed and Deferred neither is, whenever and wherever anything dies. The store
// must be a [store.Transactor].
//
// Of the policy, Keep, MaxConsume, HoldLimit, Outage and Verifier count. There is
// no lease: the row of the record is locked while fn runs, and copies wait for as
// long as the server lets them, then they are busy. What is rolled back leaves no
// attempt behind, so that MaxAttempts parks nothing, and an error marked by
// [Permanent] only is one. OutageRun is OutageRetry: without the store there is no
// transaction. [Fence] is refused. BusyWait does not count.
//
// fn may return an error marked by [AlreadyDone]: what it has written is rolled
// back, and the key is completed. [AfterTx] tells fn how the transaction ended.
func (g *Guard) DeliverTx(ctx context.Context, d Delivery, fn func(context.Context, *sql.Tx) error) Result {
	if g.transactor == nil {
		return g.Report(ctx, d, Result{Outcome: Deferred, Err: ErrNoTransactions})
	}
	m := &member{}
	m.tx = &transaction{run: &m.run, fn: fn}
	m.act = g.claim(ctx, &d, &m.attempt)
	if m.act.kind == actHold {
		g.waitOut(ctx, []*member{m}, func([]*member) {})
	}
	return g.conclude(ctx, &m.run, m.act)
}

// transact makes one try of a delivery with a transaction: its claim, and if that
// is granted its callback and its end. Until the callback begins it takes no
// longer than ClaimTimeout: the claim may wait for a row.
func (g *Guard) transact(ctx context.Context, a *attempt) action {
	r := a.tx.run
	patient, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(g.options.ClaimTimeout, cancel)
	defer patience.Stop()
	var act action
	begun, failure := false, error(nil)
	request := store.TxRequest{Key: a.key, Token: a.token, Keep: a.machine.policy.Keep}
	verdict, err := g.transactor.Transact(patient, request,
		func(ctx context.Context, tx *sql.Tx, number int) error {
			if !patience.Stop() {
				return context.DeadlineExceeded
			}
			begun = true
			act, failure = g.runTx(ctx, r, tx, number)
			return failure
		})
	if begun {
		g.tellEnd(ctx, a.tx, failure, err)
	}
	switch {
	case begun && failure != nil:
		if act.kind == actComplete { // what is recorded then is not this transaction
			a.token = store.NewToken()
		}
		return act
	case begun:
		act, _ = r.step(input{kind: inTransacted, now: g.now(), err: err})
		return act
	case err == nil && verdict.State == store.Claimed:
		err = errNoVerdict // what did not run cannot be committed
	}
	return a.machine.step(input{
		kind: inClaimed, now: g.now(), verdict: verdict, err: err, jitter: jitter(err),
		aborted: ctx.Err(), down: err != nil && g.circuit.isDown(),
	})
}

// runTx runs the callback of a claim that has just been granted. An error rolls
// the transaction back, and act is what the machine wants then; without one the
// transaction decides.
func (g *Guard) runTx(ctx context.Context, r *run, tx *sql.Tx, number int) (act action, err error) {
	now := g.now()
	act = r.machine.step(input{
		kind: inClaimed, now: now, sent: now, verdict: store.Verdict{State: store.Claimed, Attempt: number},
		aborted: ctx.Err(), doubted: g.doubted(&r.machine.policy),
	})
	r.claimTime = now - r.machine.began
	if act.kind == actRun || act.kind == actVerify {
		act = g.hold(ctx, r, act)
	}
	switch act.kind {
	case actComplete: // the Verifier has found the effect: the record alone is committed
		return action{}, nil
	case actRun:
	default:
		return act, errRolledBack
	}
	if err = call(&r.ctx, func(ctx context.Context) error { return r.tx.fn(ctx, tx) }); err != nil {
		return g.returned(r, err), err
	}
	r.runTime += g.now() - r.started
	return action{}, nil
}
