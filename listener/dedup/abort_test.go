package dedup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// wantFree checks that nothing ran under the key and that it can be claimed.
func wantFree(t *testing.T, b *bench, k store.Key, attempt int) {
	t.Helper()
	r := b.Deliver(context.Background(), dedup.Delivery{Key: k, Policy: short()}, succeed)
	if r.Outcome != dedup.Ran || r.Attempt != attempt {
		t.Errorf("afterwards: got %v at attempt %d, want ran at %d", r.Outcome, r.Attempt, attempt)
	}
}

func TestNothingStartsWhenTheCallerHasGoneDuringTheClaim(t *testing.T) {
	for name, attempt := range map[string]int{"at once": 1, "a Verifier": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &lateReply{delay: 500 * time.Millisecond}
				b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
				d := dedup.Delivery{Key: key("1"), Policy: short()}
				if attempt > 1 {
					want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
					d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) {
						t.Error("the Verifier was asked")
						return dedup.NotHappened, nil
					}
				}
				slow.times = slow.claims + 1
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				want(t, b.Deliver(ctx, d, mustNotRun(t)), dedup.Deferred, context.DeadlineExceeded)
				wantFree(t, b, d.Key, attempt)
			})
		})
	}
}

func TestNothingStartsWhenTheCallerHasGoneDuringVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		leave := func(ctx context.Context, _ store.Key) (dedup.Finding, error) {
			cancel()
			if ctx.Err() == nil {
				t.Error("the Verifier is not told that its caller has gone")
			}
			return dedup.NotHappened, nil
		}
		ds := batchOf(t, b, short(), leave, "a", "b")
		want(t, b.Deliver(ctx, ds[1], mustNotRun(t)), dedup.Deferred, context.Canceled)

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		for i, r := range b.DeliverTogether(ctx, ds, func(context.Context, []int) error {
			t.Error("the batch ran")
			return nil
		}) {
			want(t, r, dedup.Deferred, context.Canceled)
			wantFree(t, b, ds[i].Key, i+1)
		}
	})
}

func TestTheContextOfACallbackEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ds := batchOf(t, b, short(), nil, "a", "b")
		var alone, together context.Context
		b.Deliver(t.Context(), ds[0], func(ctx context.Context) error { alone = ctx; return errBoom })
		b.DeliverTogether(t.Context(), ds, func(ctx context.Context, _ []int) error { together = ctx; return nil })
		for name, ctx := range map[string]context.Context{"alone": alone, "together": together} {
			if context.Cause(ctx) != context.Canceled {
				t.Errorf("%s: got %v, want canceled: it holds on to the caller's context", name, context.Cause(ctx))
			}
		}
	})
}

func TestACallerThatGoesAwayEndsItsRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &silentClaims{on: true}
		b := newBench(t, func(s store.Store) store.Store { silent.Store = s; return silent })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		p := short()
		p.Outage = dedup.OutageRun // which is for stores, not for callers that go away
		began := time.Now()
		r := b.Deliver(ctx, dedup.Delivery{Key: key("1"), Policy: p}, mustNotRun(t))
		if want(t, r, dedup.Deferred, context.DeadlineExceeded); time.Since(began) != 100*time.Millisecond {
			t.Errorf("took %v, want 100ms", time.Since(began))
		}
		silent.on = false
		wantFree(t, b, key("1"), 1)
	})
}
