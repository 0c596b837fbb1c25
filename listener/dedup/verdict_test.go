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

func TestEveryVerdictHasItsOutcome(t *testing.T) {
	for _, c := range []struct {
		name    string
		verdict store.Verdict
		outcome dedup.Outcome
		err     error
	}{
		{"busy", store.Verdict{State: store.Busy, Left: time.Minute, Rearmed: true}, dedup.Deferred, dedup.ErrBusy},
		{"done", store.Verdict{State: store.Done, Rearmed: true}, dedup.Skipped, nil},
		{"parked", store.Verdict{State: store.Parked, Rearmed: true}, dedup.Deferred, dedup.ErrParked},
		{"corrupt", store.Verdict{State: store.Corrupt}, dedup.Deferred, dedup.ErrCorrupt},
		{"claimed", store.Verdict{State: store.Claimed, Attempt: 1, Rearmed: true}, dedup.Ran, nil},
		{"unheard of", store.Verdict{State: 77}, dedup.Deferred, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s store.Store) store.Store { return &answering{Store: s, verdict: c.verdict} })
				ran := false
				d := dedup.Delivery{Key: key("1"), Policy: short()}
				r := b.Deliver(t.Context(), d, func(context.Context) error { ran = true; return nil })
				if r.Outcome != c.outcome || c.err != nil && !errors.Is(r.Err, c.err) || ran != (c.outcome == dedup.Ran) {
					t.Errorf("got %v, %v, ran: %t; want %v, %v", r.Outcome, r.Err, ran, c.outcome, c.err)
				}
				if r.Rearmed != c.verdict.Rearmed || r.Left != c.verdict.Left || r.Attempt != c.verdict.Attempt {
					t.Errorf("got %+v, want what the verdict said: %+v", r, c.verdict)
				}
			})
		})
	}
}

func TestAGrantWithMoreThanAThirdOfTheLeaseLeftRuns(t *testing.T) {
	for delay, claims := range map[time.Duration]int{599 * time.Millisecond: 1, 601 * time.Millisecond: 2} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &lateReply{delay: delay, times: 1}
				b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
				p := dedup.Policy{Lease: 900 * time.Millisecond, MaxConsume: time.Minute}
				want(t, b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed), dedup.Ran, nil)
				if slow.claims != claims {
					t.Errorf("got %d claims, want %d", slow.claims, claims)
				}
			})
		})
	}
}

func TestACallerThatHasGoneRunsNothingUnprotected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		broken := &answering{err: &store.Error{Class: store.Permanent, Err: errBoom}, meanwhile: cancel}
		b := newBench(t, func(s store.Store) store.Store { broken.Store = s; return broken })
		p := short()
		p.Outage = dedup.OutageRun
		want(t, b.Deliver(ctx, dedup.Delivery{Key: key("1"), Policy: p}, mustNotRun(t)), dedup.Deferred, errBoom)
	})
}

func TestAFailureWithoutAClaimReleasesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		claim    storetest.Fault
		releases int
	}{
		"the claim is lost":       {storetest.None, 0},
		"it ran unprotected":      {storetest.CutBefore, 0},
		"but its claim may exist": {storetest.CutAfter, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := newFlaky(t)
				down(f, c.claim, storetest.Claim)
				p := short()
				p.Outage = dedup.OutageRun
				d := dedup.Delivery{Key: key("1"), Policy: p}
				r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
					if c.claim == storetest.None {
						if _, err := b.store.Complete(ctx, d.Key, store.NewToken(), time.Hour); err != nil {
							t.Error(err)
						}
						<-ctx.Done()
					}
					return errBoom
				})
				want(t, r, dedup.Failed, errBoom)
				if got := f.Calls(storetest.Release); got != c.releases {
					t.Errorf("releases: got %d, want %d", got, c.releases)
				}
			})
		})
	}
}

func TestAParkIsRepeatedUntilTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Park, storetest.CutBefore, storetest.CutAfter, storetest.CutBefore)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		fatal := func(context.Context) error { return dedup.Permanent(errBoom) }
		want(t, b.Deliver(t.Context(), d, fatal), dedup.Failed, errBoom)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrParked)
		if got := f.Calls(storetest.Park); got != 4 {
			t.Errorf("parks: got %d, want 4", got)
		}
	})
}

func TestACallbackIsAnOrphanOnlyAfterItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		b.Deliver(t.Context(), d, func(ctx context.Context) error {
			<-ctx.Done()
			for _, orphaned := range []int{0, 0, 0, 1, 1} { // the grace is a lease, 3 s
				time.Sleep(900 * time.Millisecond)
				if got := b.Stats(); got.Orphaned != orphaned || got.Running != 1 {
					t.Errorf("gauges: got %+v, want %d orphans of 1 running", got, orphaned)
				}
			}
			return nil
		})
	})
}
