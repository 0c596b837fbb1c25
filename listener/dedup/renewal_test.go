package dedup_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestRenewalsOfShortLeasesDoNotCutThoseOfLongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowRenewals{delay: 200 * time.Millisecond}
		b := newBench(t, func(s store.Store) store.Store { slow.Store = s.(*memstore.Store); return slow })
		brief := dedup.Policy{Lease: 300 * time.Millisecond, MaxConsume: 20 * time.Second}
		var others sync.WaitGroup
		defer others.Wait()
		others.Go(func() {
			for i := range 20 { // never renewed in time: a store this slow is too slow for such a lease
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: brief}, holdFor(time.Second))
				if r.Outcome != dedup.Failed || !r.Cancelled {
					t.Errorf("got %+v, want failed and cancelled", r)
				}
			}
		})
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("long"), Policy: short()}, holdFor(6*time.Second))
		if want(t, r, dedup.Ran, nil); r.Cancelled {
			t.Error("the long lease was lost although its renewals had the time they need")
		}
	})
}

func TestARenewalThatAnswersTooLittleIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terse := &terseRenewals{times: 3}
		b := newBench(t, func(s store.Store) store.Store { terse.Store = s.(*memstore.Store); return terse })
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, holdFor(10*time.Second))
		if want(t, r, dedup.Ran, nil); r.Cancelled || terse.times != 0 {
			t.Errorf("got %+v with %d bad answers left, want a lease that was kept", r, terse.times)
		}
	})
}

func TestAnAnswerAboutTheLeaseAfterTheEndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &deafRenewals{delay: 5 * time.Second}
		b := newBench(t, func(s store.Store) store.Store { deaf.Store = s.(*memstore.Store); return deaf })
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(t.Context(), d, holdFor(1500*time.Millisecond)), dedup.Ran, nil)
		time.Sleep(10 * time.Second) // the renewal comes back
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestARenewalThatFailsIsRepeatedATwelfthOfTheLeaseLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		down(f, storetest.CutBefore, storetest.Renew)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(t.Context(), d, holdFor(time.Minute)), dedup.Failed, context.Canceled)
		if got := f.Calls(storetest.Renew); got != 8 && got != 9 { // at 1 s, then each 250 ms until 3 s
			t.Errorf("renewals: got %d, want 8, or 9 with one at the very end", got)
		}
	})
}

func TestThousandsOfCallbacksShareTheirRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := &slowRenewals{delay: time.Millisecond}
		b := newBench(t, func(s store.Store) store.Store { counted.Store = s.(*memstore.Store); return counted })
		var all sync.WaitGroup
		for i := range 3000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Microsecond)
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: short()}, holdFor(4*time.Second))
				if r.Outcome != dedup.Ran {
					t.Errorf("%d: got %v, %v", i, r.Outcome, r.Err)
				}
			})
		}
		all.Wait()
		if calls := counted.calls.Load(); calls > 30 {
			t.Errorf("renewals: got %d calls for 3000 callbacks of 4 s, want a few each second", calls)
		}
	})
}

// holdFor is a callback that takes d or ends with its context.
func holdFor(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		return ctx.Err()
	}
}
