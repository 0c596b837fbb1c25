package dedup_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// database is a store whose transactions are kept in memory: what a callback
// does is its effect only if the record is committed. The stores in real
// databases have tests of their own.
type database struct {
	*memstore.Store
	begin  func() error // before the claim
	commit func() error // instead of the commit
}

func (b *database) Transact(ctx context.Context, r store.TxRequest,
	do func(context.Context, *sql.Tx, int) error) (store.Verdict, error) {
	if b.begin != nil {
		if err := b.begin(); err != nil {
			return store.Verdict{}, err
		}
	}
	v, err := b.Claim(ctx, store.ClaimRequest{Key: r.Key, Token: r.Token, Lease: time.Hour, Horizon: time.Hour})
	if err != nil || v.State != store.Claimed {
		return v, err
	}
	err = do(ctx, nil, v.Attempt)
	if err == nil && b.commit != nil {
		err = b.commit()
	}
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		return v, errors.Join(err, b.Release(ctx, r.Key, r.Token, false))
	}
	_, err = b.Complete(ctx, r.Key, r.Token, r.Keep)
	return v, err
}

// ledger is a guard on a database.
type ledger struct {
	*bench
	db *database
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	db := &database{}
	return &ledger{newBench(t, func(s store.Store) store.Store {
		db.Store = s.(*memstore.Store)
		return db
	}), db}
}

func (l *ledger) deliver(t *testing.T, p dedup.Policy, fn func(context.Context) error) dedup.Result {
	t.Helper()
	return l.DeliverTx(t.Context(), dedup.Delivery{Key: key("1"), Policy: p},
		func(ctx context.Context, _ *sql.Tx) error { return fn(ctx) })
}

func TestATransactionIsCommittedOnceAndItsCopiesAreSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		r := l.deliver(t, short(), func(ctx context.Context) error {
			time.Sleep(time.Second)
			if at, ok := dedup.FromContext(ctx); !ok || at.Attempt != 1 || at.Key != key("1") {
				t.Errorf("inside the callback: got %+v, %v", at, ok)
			}
			return nil
		})
		want(t, r, dedup.Ran, nil)
		if r.Completion != store.Completed || r.Attempt != 1 {
			t.Errorf("got %+v, want completed attempt 1", r)
		}
		if e := <-l.events; e.RunTime != time.Second || e.ClaimTime != 0 || e.SettleTime != 0 {
			t.Errorf("times: got %v claiming, %v running, %v settling, want 1s of running", e.ClaimTime, e.RunTime, e.SettleTime)
		}
		want(t, l.deliver(t, short(), mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestACallbackThatFailsInATransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		want(t, l.deliver(t, short(), fail), dedup.Failed, errBoom)
		r := l.deliver(t, short(), func(context.Context) error { panic("out") })
		if e := (*dedup.PanicError)(nil); r.Outcome != dedup.Failed || !errors.As(r.Err, &e) {
			t.Errorf("got %+v, want the panic as an error", r)
		}
		r = l.deliver(t, dedup.Policy{MaxAttempts: 1}, func(context.Context) error { return dedup.Permanent(errBoom) })
		if r.Outcome != dedup.Failed || !dedup.IsPermanent(r.Err) {
			t.Errorf("got %+v, want a permanent failure", r)
		}
		if r = l.deliver(t, short(), succeed); r.Attempt != 1 {
			t.Errorf("got attempt %d, want 1", r.Attempt)
		}
		want(t, r, dedup.Ran, nil)
	})
}

func TestACommitThatFailsIsNoSuccess(t *testing.T) {
	t.Parallel()
	for _, class := range []store.Class{store.NotApplied, store.Unknown, store.Permanent} {
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLedger(t)
				lost := &store.Error{Driver: "test", Op: "transact", Class: class, Err: errBoom}
				l.db.commit = func() error { return lost }
				want(t, l.deliver(t, short(), succeed), dedup.Deferred, lost)
				l.db.commit = nil
				want(t, l.deliver(t, short(), succeed), dedup.Ran, nil)
			})
		})
	}
}

func TestATransactionThatSomebodyElseIsAtIsDeferred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		r := store.ClaimRequest{Key: key("1"), Token: store.NewToken(), Lease: time.Minute, Horizon: time.Minute}
		if _, err := l.store.Claim(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		got := l.deliver(t, short(), mustNotRun(t))
		if want(t, got, dedup.Deferred, dedup.ErrBusy); got.Left != time.Minute {
			t.Errorf("left: got %v, want a minute", got.Left)
		}
	})
}

func TestAnEffectThatIsThereAlreadyIsCompletedAndSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		there := func(context.Context) error { return dedup.AlreadyDone(errBoom) }
		l := newLedger(t)
		want(t, l.deliver(t, short(), there), dedup.Skipped, nil)
		want(t, l.deliver(t, short(), mustNotRun(t)), dedup.Skipped, nil)
		for _, id := range []string{"2", "2"} { // without a transaction, too
			r := l.Deliver(t.Context(), dedup.Delivery{Key: key(id), Policy: short()}, there)
			want(t, r, dedup.Skipped, nil)
			there = mustNotRun(t)
		}
		if dedup.AlreadyDone(nil) != nil || dedup.IsAlreadyDone(errBoom) {
			t.Error("AlreadyDone(nil) is an error, or any error is AlreadyDone")
		}
	})
}

func TestATransactionWaitsForTheStoreToComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, began := newLedger(t), time.Now()
		l.db.begin = func() error {
			if time.Since(began) > 20*time.Second {
				return nil
			}
			return &store.Error{Driver: "test", Op: "transact", Class: store.NotApplied, Err: errBoom}
		}
		r := l.deliver(t, short(), succeed)
		want(t, r, dedup.Ran, nil)
		if took := time.Since(began); took > 22*time.Second {
			t.Errorf("ran after %v, want soon after the store was back at 20s", took)
		}
		began = time.Now()
		for _, outage := range []dedup.Outage{dedup.OutageRetry, dedup.OutageRun} {
			r := l.DeliverTx(t.Context(), dedup.Delivery{Key: key(outage.String()), Policy: dedup.Policy{Outage: outage}},
				func(context.Context, *sql.Tx) error { t.Error("ran without a transaction"); return nil })
			want(t, r, dedup.Deferred, errBoom)
		}
	})
}

func TestATransactionAsksTheVerifierBeforeATakeOver(t *testing.T) {
	t.Parallel()
	for finding, outcome := range map[dedup.Finding]dedup.Outcome{
		dedup.Happened: dedup.Skipped, dedup.NotHappened: dedup.Ran, dedup.Unknown: dedup.Deferred,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger(t)
			r := store.ClaimRequest{Key: key("1"), Token: store.NewToken(), Lease: time.Second, Horizon: time.Hour}
			if _, err := l.store.Claim(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			p, ran := short(), false
			p.Verifier = func(context.Context, store.Key) (dedup.Finding, error) { return finding, nil }
			got := l.deliver(t, p, func(context.Context) error { ran = true; return nil })
			if got.Outcome != outcome || ran != (finding == dedup.NotHappened) {
				t.Errorf("finding %v: got %v, ran %v, want %v", finding, got.Outcome, ran, outcome)
			}
			if outcome.Finished() {
				want(t, l.deliver(t, p, mustNotRun(t)), dedup.Skipped, nil)
			}
		})
	}
}

func TestATransactionEndsWithMaxConsumeOrItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		r := l.deliver(t, short(), func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if want(t, r, dedup.Failed, dedup.ErrMaxConsume); !r.Cancelled {
			t.Error("the result does not say that the context was cancelled")
		}
		ctx, cancel := context.WithCancel(t.Context())
		r = l.DeliverTx(ctx, dedup.Delivery{Key: key("1"), Policy: short()}, func(ctx context.Context, _ *sql.Tx) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		want(t, r, dedup.Failed, context.Canceled)
		want(t, l.deliver(t, short(), succeed), dedup.Ran, nil)
	})
}

func TestWithoutTransactionsNothingRunsInOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		if b.Transacts() {
			t.Error("the store in memory has no transactions")
		}
		outcome, err := b.DoTx(t.Context(), key("1"), short(), func(context.Context, *sql.Tx) error {
			t.Error("ran without a transaction")
			return nil
		})
		if outcome != dedup.Deferred || !errors.Is(err, dedup.ErrNoTransactions) {
			t.Errorf("got %v, %v, want it deferred", outcome, err)
		}
	})
}
