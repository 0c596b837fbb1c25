package dedup_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// batchOf returns deliveries of the keys, the last of which is asked about by
// verify because an earlier attempt of it failed.
func batchOf(t *testing.T, b *bench, p dedup.Policy, verify dedup.Verifier, ids ...string) []dedup.Delivery {
	t.Helper()
	ds := make([]dedup.Delivery, len(ids))
	for i, id := range ids {
		ds[i] = dedup.Delivery{Key: key(id), Policy: p}
	}
	last := &ds[len(ds)-1]
	want(t, b.Deliver(t.Context(), *last, fail), dedup.Failed, errBoom)
	last.Policy.Verifier = verify
	return ds
}

func TestAClaimLostBeforeItsBatchStartsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		var stolen dedup.Delivery
		steal := func(context.Context, store.Key) (dedup.Finding, error) {
			time.Sleep(time.Second) // all are claimed
			if _, err := b.store.Complete(t.Context(), stolen.Key, store.NewToken(), time.Hour); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second) // the renewal finds out meanwhile
			return dedup.NotHappened, nil
		}
		ds := batchOf(t, b, short(), steal, "a", "b", "c")
		stolen = ds[1]
		before := f.Calls(storetest.Release)
		results := b.DeliverTogether(t.Context(), ds, func(ctx context.Context, acquired []int) error {
			if !slices.Equal(acquired, []int{0, 2}) {
				t.Errorf("acquired: got %v, want [0 2]: the claim of 1 is lost", acquired)
			}
			return ctx.Err() // the loss of a message that is left out is no reason to stop
		})
		want(t, results[0], dedup.Ran, nil)
		want(t, results[1], dedup.Deferred, dedup.ErrLeaseLost)
		want(t, results[2], dedup.Ran, nil)
		if got := f.Calls(storetest.Release) - before; got != 0 || results[1].Left != 0 {
			t.Errorf("got %d releases and %v left for a claim that is lost, want none", got, results[1].Left)
		}
	})
}

func TestAClaimWithLittleLeaseLeftIsGivenBackBeforeItsBatchStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s store.Store) store.Store { return noRenewals{s} })
		slow := func(context.Context, store.Key) (dedup.Finding, error) {
			time.Sleep(2500 * time.Millisecond)
			return dedup.NotHappened, nil
		}
		ds := batchOf(t, b, dedup.FixedLease(3*time.Second), slow, "a", "b")
		results := b.DeliverTogether(t.Context(), ds, func(context.Context, []int) error {
			t.Error("the callback ran with less than a third of the lease")
			return nil
		})
		for i, r := range results {
			if r.Outcome != dedup.Deferred || r.Err == nil || r.Left != 0 {
				t.Errorf("%d: got %+v; want deferred with a reason, and released", i, r)
			}
			want(t, b.Deliver(t.Context(), dedup.Delivery{Key: ds[i].Key, Policy: short()}, succeed), dedup.Ran, nil)
		}
	})
}

func TestAVerifierWithLittleLeaseLeftDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: dedup.FixedLease(3 * time.Second)}
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) {
			time.Sleep(2500 * time.Millisecond)
			return dedup.NotHappened, nil
		}
		if r := b.Deliver(t.Context(), d, mustNotRun(t)); r.Outcome != dedup.Deferred || r.Left != 0 {
			t.Errorf("got %+v, want deferred and released", r)
		}
	})
}

func TestAVerifierOfABatchKnowsItsClaim(t *testing.T) {
	var b *bench
	var leaked context.Context
	verify := func(ctx context.Context, k store.Key) (dedup.Finding, error) {
		leaked = ctx
		if running, ok := dedup.FromContext(ctx); !ok || running.Key != k || running.Attempt != 2 {
			t.Errorf("running: got %+v, %t", running, ok)
		}
		want(t, b.Deliver(ctx, dedup.Delivery{Key: k}, mustNotRun(t)), dedup.Deferred, dedup.ErrNested)
		_, err := dedup.Fence(ctx)
		return dedup.NotHappened, err
	}
	b = newBench(t, nil)
	ds := batchOf(t, b, short(), verify, "a", "b")
	results := b.DeliverTogether(t.Context(), ds, func(context.Context, []int) error {
		dedup.FromContext(leaked) // a Verifier's context may outlive it
		return nil
	})
	want(t, results[1], dedup.Ran, nil)
}

func TestACallbackOfABatchCannotDeliverItsOwnKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ds := batchOf(t, b, short(), nil, "a", "b")
		b.DeliverTogether(t.Context(), ds, func(ctx context.Context, _ []int) error {
			for _, d := range ds {
				want(t, b.Deliver(ctx, d, mustNotRun(t)), dedup.Deferred, dedup.ErrNested)
			}
			if _, ok := dedup.FromContext(ctx); ok {
				t.Error("a callback for two keys was told of one")
			}
			if _, err := dedup.Fence(ctx); !errors.Is(err, dedup.ErrNoFence) {
				t.Errorf("fence: got %v, want ErrNoFence", err)
			}
			return nil
		})
	})
}

func TestALostClaimCancelsTheCallbackOfItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ds := batchOf(t, b, short(), nil, "a", "b", "c")
		results := b.DeliverTogether(t.Context(), ds, func(ctx context.Context, _ []int) error {
			if _, err := b.store.Complete(ctx, ds[1].Key, store.NewToken(), time.Hour); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		for i, r := range results {
			if want(t, r, dedup.Failed, dedup.ErrLeaseLost); r.Cancelled != (i == 1) {
				t.Errorf("%d: cancelled is %t, want %t", i, r.Cancelled, i == 1)
			}
		}
		want(t, b.Deliver(t.Context(), ds[0], succeed), dedup.Ran, nil)
		want(t, b.Deliver(t.Context(), ds[1], mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestABatchInAnOutageRunsUnprotected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		p := short()
		p.Outage = dedup.OutageRun
		ds := []dedup.Delivery{{Key: key("a"), Policy: p}, {Key: key("b"), Policy: p}}
		down(f, storetest.CutBefore, storetest.Claim, storetest.ClaimBatch)
		for _, r := range b.DeliverTogether(t.Context(), ds, func(ctx context.Context, _ []int) error {
			time.Sleep(10 * time.Second)
			return ctx.Err()
		}) {
			if want(t, r, dedup.Ran, nil); !r.Unprotected || r.Completion != store.Recreated {
				t.Errorf("got %+v, want unprotected and recreated", r)
			}
		}
	})
}

func TestAMessageThatWaitedTooLongForItsBatchDoesNotRunUnprotected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &failsAtOnce{}
		b := newBench(t, func(s store.Store) store.Store { broken.Store = s; return broken })
		p := dedup.Policy{MaxConsume: time.Second, Outage: dedup.OutageRun}
		ds := []dedup.Delivery{{Key: key("at once"), Policy: p}, {Key: key("b"), Policy: p}}
		results := b.DeliverTogether(t.Context(), ds, func(_ context.Context, acquired []int) error {
			if !slices.Equal(acquired, []int{1}) {
				t.Errorf("acquired: got %v, want [1]: the time of 0 was over before the claim of 1 was given up", acquired)
			}
			return nil
		})
		want(t, results[0], dedup.Deferred, dedup.ErrMaxConsume)
		want(t, results[1], dedup.Ran, nil)
		if results[0].Unprotected || !results[1].Unprotected {
			t.Errorf("unprotected: got %t, %t; want only the one that ran", results[0].Unprotected, results[1].Unprotected)
		}
	})
}

func TestAHugeBatchRunsOnceUnderAsManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowRenewals{delay: 100 * time.Millisecond}
		b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
		ds := make([]dedup.Delivery, 1024)
		for i := range ds {
			ds[i] = dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: short()}
		}
		results := b.DeliverTogether(t.Context(), ds, func(ctx context.Context, acquired []int) error {
			if got := b.Stats().Running; got != len(ds) || len(acquired) != len(ds) {
				t.Errorf("got %d running and %d acquired, want %d", got, len(acquired), len(ds))
			}
			time.Sleep(10 * time.Second)
			return ctx.Err()
		})
		for _, r := range results {
			want(t, r, dedup.Ran, nil)
		}
		if calls := slow.calls.Load(); calls < 9 || calls > 20 {
			t.Errorf("renewals: got %d calls, want one each second for all", calls)
		}
	})
}
