package dedup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestCompleteIsRepeatedUntilTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Complete, storetest.CutAfter, storetest.CutBefore, storetest.Slow, storetest.CutBefore)
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, succeed)
		want(t, r, dedup.Ran, nil)
		if r.Completion != store.Completed || r.Unrecorded {
			t.Errorf("got %+v, want completed and recorded", r)
		}
	})
}

func TestASuccessThatCannotBeRecordedIsStillASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		down(f, storetest.CutBefore, storetest.Complete)
		p := short()
		p.Outage = dedup.OutageRetry
		began := time.Now()
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed)
		want(t, r, dedup.Ran, storetest.ErrCutBefore)
		if !r.Unrecorded {
			t.Errorf("got %+v, want unrecorded", r)
		}
		if took := time.Since(began); took != dedup.DefaultSettleTimeout {
			t.Errorf("took %v, want the settle timeout", took)
		}
		b.endUnrecorded(t, 1)
	})
}

func TestASuccessIsOnlyRecordedByAValidAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer completeAnswer
		calls  int
	}{
		"no completion":       {completeAnswer{}, 2},
		"not owner":           {completeAnswer{err: store.ErrNotOwner}, 2},
		"a permanent failure": {completeAnswer{err: &store.Error{Class: store.Permanent, Err: errBoom}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s store.Store) store.Store { c.answer.Store = s; return &c.answer })
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, succeed)
				if r.Outcome != dedup.Ran || !r.Unrecorded || r.Err == nil || c.answer.calls < c.calls {
					t.Errorf("got %+v after %d calls, want unrecorded after %d or more", r, c.answer.calls, c.calls)
				}
				b.endUnrecorded(t, 1)
			})
		})
	}
}

func TestASuccessIsRecordedOnceAWrongPermissionIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := time.Now().Add(5 * time.Second)
		b := newBench(t, func(s store.Store) store.Store { return noRights{s.(*memstore.Store), mended} })
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, succeed)
		if want(t, r, dedup.Ran, nil); r.Unrecorded {
			t.Errorf("got %+v, want recorded", r)
		}
	})
}

func TestAReleaseIsRepeatedUntilTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Release, storetest.CutBefore, storetest.CutAfter, storetest.CutBefore)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		want(t, b.Deliver(t.Context(), d, succeed), dedup.Ran, nil)
		if got := f.Calls(storetest.Release); got != 4 {
			t.Errorf("releases: got %d, want 4", got)
		}
	})
}

func TestAClaimThatCannotBeReleasedTellsHowLongItBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		silent bool // the claims, too
		left   time.Duration
	}{
		"after a Verifier":     {false, 2500 * time.Millisecond},
		"after claims in vain": {true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silent := &silentClaims{}
				b := newBench(t, func(s store.Store) store.Store { silent.Store = noReleases{s.(*memstore.Store)}; return silent })
				d := dedup.Delivery{Key: key("1"), Policy: dedup.FixedLease(3 * time.Second)}
				want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
				time.Sleep(d.Policy.Lease)
				silent.on = c.silent
				d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) {
					time.Sleep(500 * time.Millisecond)
					return dedup.Unknown, nil
				}
				if r := b.Deliver(t.Context(), d, mustNotRun(t)); r.Outcome != dedup.Deferred || r.Left != c.left {
					t.Errorf("got %v with %v left, want deferred with %v", r.Outcome, r.Left, c.left)
				}
			})
		})
	}
}

func TestAFailureWhileTheStoreIsAwayEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		down(f, storetest.CutBefore, storetest.Release)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		began := time.Now()
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		if took := time.Since(began); took > d.Policy.Lease {
			t.Errorf("took %v, want at most the lease: it frees the key anyway", took)
		}
	})
}

func TestEveryDeliveryIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Claim, storetest.CutAfter)
		d := dedup.Delivery{Key: key("1"), Policy: short(), Redelivered: true}
		b.Deliver(t.Context(), d, func(context.Context) error { time.Sleep(time.Second); return nil })
		b.Deliver(t.Context(), d, succeed)
		close(b.events)
		first, second := <-b.events, <-b.events
		if _, more := <-b.events; more {
			t.Error("more than two events")
		}
		if first.Key != d.Key || first.Outcome != dedup.Ran || !first.Redelivered ||
			first.RunTime != time.Second || first.ClaimTime < 5*time.Millisecond || first.ClaimTime > 10*time.Millisecond {
			t.Errorf("first: got %+v", first)
		}
		if second.Outcome != dedup.Skipped || second.RunTime != 0 {
			t.Errorf("second: got %+v", second)
		}
	})
}
