package dedup_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func newFlaky(t *testing.T) (*bench, *storetest.Faults) {
	f := &storetest.Faults{Delay: time.Minute}
	return newBench(t, func(s store.Store) store.Store { return storetest.Flaky(s, f) }), f
}

// down cuts every call from now on, up to a number that no test reaches.
func down(f *storetest.Faults, kind storetest.Fault, ops ...storetest.Op) {
	for _, op := range ops {
		for range 500 {
			f.Next(op, kind)
		}
	}
}

func TestALostReplyOfAClaimIsRepeatedAndRunsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Claim, storetest.CutAfter, storetest.CutBefore)
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, succeed)
		want(t, r, dedup.Ran, nil)
		if r.Attempt != 1 || r.Completion != store.Completed || f.Calls(storetest.Claim) != 3 {
			t.Errorf("got %+v after %d claims, want completed at attempt 1 after 3", r, f.Calls(storetest.Claim))
		}
	})
}

func TestOutageRetryDefersWithinTheClaimTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		fault                     storetest.Fault
		atLeast, atMost, releases int // calls
	}{
		"refused":      {storetest.CutBefore, 9, 16, 0},
		"replies lost": {storetest.CutAfter, 9, 16, 1},
		"black hole":   {storetest.Slow, 3, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := newFlaky(t)
				down(f, c.fault, storetest.Claim)
				p := short()
				p.Outage = dedup.OutageRetry
				d := dedup.Delivery{Key: key("1"), Policy: p}
				began := time.Now()
				r := b.Deliver(t.Context(), d, mustNotRun(t))
				if took := time.Since(began); took > dedup.DefaultClaimTimeout+dedup.DefaultCallTimeout {
					t.Errorf("took %v", took)
				}
				var cause *store.Error
				if r.Outcome != dedup.Deferred || !errors.As(r.Err, &cause) {
					t.Fatalf("got %v, %v; want deferred by the store's error", r.Outcome, r.Err)
				}
				claims, releases := f.Calls(storetest.Claim), f.Calls(storetest.Release)
				if claims < c.atLeast || claims > c.atMost || releases != c.releases {
					t.Errorf("got %d claims, %d releases; want %d to %d, %d", claims, releases, c.atLeast, c.atMost, c.releases)
				}
			})
		})
	}
}

func TestAClaimThatMayHaveLandedIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &silentClaims{on: true}
		b := newBench(t, func(s store.Store) store.Store { silent.Store = s; return silent })
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, errBoom)
		silent.on = false
		r := b.Deliver(t.Context(), d, succeed)
		want(t, r, dedup.Ran, nil)
		if r.Attempt != 1 {
			t.Errorf("attempt: got %d, want 1: nothing had run", r.Attempt)
		}
	})
}

func TestAPermanentErrorIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &answering{err: &store.Error{Class: store.Permanent, Err: errBoom}}
		b := newBench(t, func(s store.Store) store.Store { broken.Store = s; return broken })
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, mustNotRun(t))
		want(t, r, dedup.Deferred, errBoom)
		if broken.claims != 1 {
			t.Errorf("claims: got %d, want 1", broken.claims)
		}
	})
}

func TestAnAnswerWithoutAVerdictNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &answering{} // answers the zero Verdict and no error
		b := newBench(t, func(s store.Store) store.Store { broken.Store = s; return broken })
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, mustNotRun(t))
		if r.Outcome != dedup.Deferred || r.Err == nil {
			t.Errorf("got %v, %v; want deferred with a reason", r.Outcome, r.Err)
		}
	})
}

func TestOutageRunRunsUnprotectedAndRecordsAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		down(f, storetest.CutBefore, storetest.Claim)
		p := short()
		p.Outage = dedup.OutageRun
		d := dedup.Delivery{Key: key("1"), Policy: p}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			if running, _ := dedup.FromContext(ctx); !running.Unprotected {
				t.Error("the callback is not told that it runs unprotected")
			}
			if _, err := dedup.Fence(ctx); !errors.Is(err, dedup.ErrNoFence) {
				t.Errorf("fence: got %v, want ErrNoFence", err)
			}
			time.Sleep(5 * time.Second) // longer than a lease that nobody holds
			return ctx.Err()
		})
		want(t, r, dedup.Ran, nil)
		if !r.Unprotected || r.Completion != store.Recreated || r.Cancelled {
			t.Errorf("got %+v, want unprotected, recreated, not cancelled", r)
		}
		if v, err := b.store.Claim(t.Context(), claimOf(d)); err != nil || v.State != store.Done {
			t.Errorf("afterwards: got %v, %v; want done", v.State, err)
		}
		want(t, b.Deliver(t.Context(), dedup.Delivery{Key: key("2"), Policy: p}, fail), dedup.Failed, errBoom)
	})
}

func TestALeaseIsKeptThroughAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Renew, storetest.CutBefore, storetest.CutAfter, storetest.CutBefore)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			time.Sleep(10 * time.Second)
			return ctx.Err()
		})
		want(t, r, dedup.Ran, nil)
		if r.Cancelled {
			t.Error("the callback was cancelled")
		}
	})
}

func TestALeaseThatCannotBeRenewedIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		down(f, storetest.Slow, storetest.Renew)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != d.Policy.Lease || context.Cause(ctx) != dedup.ErrLeaseLost {
				t.Errorf("cancelled after %v by %v, want the lease, lease lost", took, context.Cause(ctx))
			}
			return ctx.Err()
		})
		want(t, r, dedup.Failed, context.Canceled)
	})
}

func TestASlowGrantIsClaimedAgainBeforeItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &lateReply{delay: 900 * time.Millisecond, times: 2}
		b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
		p := dedup.Policy{Lease: time.Second, MaxConsume: 20 * time.Second}
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed)
		want(t, r, dedup.Ran, nil)
		if slow.claims != 3 || r.Attempt != 1 {
			t.Errorf("got %d claims, attempt %d; want 3 and 1", slow.claims, r.Attempt)
		}
	})
}

func TestAStoreThatIsAlwaysTooLateDefersAndLeavesTheKeyFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &lateReply{delay: 900 * time.Millisecond, times: 1000}
		b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
		p := dedup.Policy{Lease: time.Second, MaxConsume: 20 * time.Second}
		d := dedup.Delivery{Key: key("1"), Policy: p}
		if r := b.Deliver(t.Context(), d, mustNotRun(t)); r.Outcome != dedup.Deferred || r.Err == nil {
			t.Fatalf("got %v, %v; want deferred with a reason", r.Outcome, r.Err)
		}
		slow.times = 0
		want(t, b.Deliver(t.Context(), d, succeed), dedup.Ran, nil)
	})
}

func TestALateGrantIsReleasedWhenNothingRunsUnderIt(t *testing.T) {
	for name, c := range map[string]struct {
		outage dedup.Outage
		abort  bool
	}{
		"the store goes away": {dedup.OutageRetry, false}, "the caller goes away": {dedup.OutageRetry, true},
		"it fails unprotected": {dedup.OutageRun, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				slow := &lateReply{delay: 900 * time.Millisecond, times: 1}
				f := &storetest.Faults{}
				f.Next(storetest.Claim, storetest.None)
				down(f, storetest.CutBefore, storetest.Claim)
				b := newBench(t, func(s store.Store) store.Store {
					slow.Store = s.(*memstore.Store)
					return storetest.Flaky(slow, f)
				})
				p := dedup.Policy{Lease: time.Second, MaxConsume: time.Hour, Outage: c.outage}
				if c.abort {
					time.AfterFunc(800*time.Millisecond, cancel)
				}
				r := b.Deliver(ctx, dedup.Delivery{Key: key("1"), Policy: p}, fail)
				if unprotected := c.outage == dedup.OutageRun; (r.Outcome == dedup.Failed) != unprotected {
					t.Errorf("got %v, %v; want failed only if it ran unprotected", r.Outcome, r.Err)
				}
				if f.Calls(storetest.Release) != 1 || r.Left != 0 {
					t.Errorf("got %d releases and %v left, want one and nothing", f.Calls(storetest.Release), r.Left)
				}
			})
		})
	}
}

func claimOf(d dedup.Delivery) store.ClaimRequest {
	p := d.Policy.WithDefaults()
	return store.ClaimRequest{Key: d.Key, Token: store.NewToken(), Lease: p.Lease, Horizon: p.Horizon}
}
