package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// losses are the ways in which every call to a store fails.
var losses = map[string]*storetest.Faults{
	"refused":      {Before: 1},
	"replies lost": {After: 1},
	"black hole":   {Lagging: 1, Delay: 100 * time.Hour},
}

func TestAHeldMessageRunsWithinTwoSecondsOfTheStoresReturn(t *testing.T) {
	for name, f := range losses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newLossy(t, f)
				const outage = time.Minute
				l.goAway(outage)
				began := time.Now()
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, succeed)
				want(t, r, dedup.Ran, nil)
				if late := time.Since(began) - outage; late < 0 || late > 2*time.Second {
					t.Errorf("ran %v after the store came back", late)
				}
				if r.Attempt != 1 || r.Completion != store.Completed {
					t.Errorf("got %+v, want completed at attempt 1", r)
				}
				if e := <-b.events; e.HoldTime < outage-5*time.Second || e.HoldTime > e.ClaimTime {
					t.Errorf("held for %v of %v, want most of the outage", e.HoldTime, e.ClaimTime)
				}
			})
		})
	}
}

func TestAMessageIsHeldUpToTheLimit(t *testing.T) {
	for name, f := range losses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newLossy(t, f)
				l.set(true)
				p := short()
				p.HoldLimit = 20 * time.Second
				began := time.Now()
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, mustNotRun(t))
				var cause *store.Error
				if r.Outcome != dedup.Deferred || !errors.As(r.Err, &cause) {
					t.Fatalf("got %v, %v; want deferred by the store's error", r.Outcome, r.Err)
				}
				took := time.Since(began)
				if took < p.HoldLimit || took > p.HoldLimit+2*dedup.DefaultCallTimeout+time.Second/2 {
					t.Errorf("took %v, want %v and no more than two calls", took, p.HoldLimit)
				}
				l.set(false)
				r = b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed)
				if f.After == 0 {
					want(t, r, dedup.Ran, nil)
				}
			})
		})
	}
}

func TestEveryTurnHasANewToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.goAway(30 * time.Second)
		want(t, b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, succeed), dedup.Ran, nil)
		repeated := 0
		for _, n := range l.claims {
			if n > 1 {
				repeated++
			}
		}
		if len(l.claims) < 50 || repeated != 1 {
			t.Errorf("got %d tokens, %d used again; want one for each turn, and the first repeated", len(l.claims), repeated)
		}
	})
}

func TestAbandonedClaimsBurnNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["replies lost"])
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{MaxAttempts: 1}}
		for range 3 {
			l.goAway(40 * time.Second) // longer than a lease
			r := b.Deliver(t.Context(), d, succeed)
			want(t, r, dedup.Ran, nil)
			if r.Attempt != 1 {
				t.Errorf("attempt: got %d, want 1: nothing had run", r.Attempt)
			}
			d.Key.ID += "+"
		}
		if len(l.claims) != 6 {
			t.Errorf("got %d tokens, want one more for each message, once the first was released", len(l.claims))
		}
	})
}

func TestThousandsOfHeldMessagesDoNotOverrunTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["black hole"])
		l.set(true)
		var all sync.WaitGroup
		const n = 2000
		var mu sync.Mutex
		ran := 0
		for i := range n {
			all.Go(func() {
				b.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i))}, func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					ran++
					return nil
				})
			})
		}
		time.Sleep(10 * time.Second)
		if s := b.Stats(); s.Held != n || s.Running != 0 {
			t.Errorf("gauges: got %+v, want all %d held", s, n)
		}
		l.set(true)
		time.Sleep(60 * time.Second)
		l.mu.Lock()
		if l.asked > 60 || l.busiest > 1 {
			t.Errorf("got %d calls in a minute, %d at once; want about one a second, alone", l.asked, l.busiest)
		}
		l.mu.Unlock()
		l.set(false)
		time.Sleep(2 * time.Second)
		mu.Lock()
		if ran != n {
			t.Errorf("%d of %d have run after two seconds", ran, n)
		}
		mu.Unlock()
		all.Wait()
		if l.busiest > 200 { // claims in turn, and the completes of those that have run
			t.Errorf("got %d calls at once", l.busiest)
		}
	})
}

func TestAMessageThatComesDuringAnOutageIsHeldAfterOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.goAway(20 * time.Second)
		go b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, succeed)
		time.Sleep(10 * time.Second)
		go b.Deliver(t.Context(), dedup.Delivery{Key: key("2")}, succeed)
		impatient := dedup.Delivery{Key: key("3"), Policy: dedup.Policy{Outage: dedup.OutageRetry}}
		go b.Deliver(t.Context(), impatient, mustNotRun(t))
		time.Sleep(100 * time.Millisecond)
		if got := b.Stats().Held; got != 2 {
			t.Errorf("held: got %d, want 2", got)
		}
		time.Sleep(12 * time.Second)
	})
}

func TestADrainEndsAllWaitingForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["replies lost"])
		l.set(true)
		results := make(chan dedup.Result, 2)
		go func() { results <- b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, mustNotRun(t)) }()
		time.Sleep(10 * time.Second)
		began := time.Now()
		b.StopWaiting()
		b.StopWaiting() // which is no mistake
		want(t, <-results, dedup.Deferred, dedup.ErrDraining)
		if took := time.Since(began); took > dedup.DefaultCallTimeout+time.Second {
			t.Errorf("took %v", took)
		}
		began = time.Now()
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("2")}, mustNotRun(t))
		want(t, r, dedup.Deferred, dedup.ErrDraining)
		if took := time.Since(began); took > dedup.DefaultClaimTimeout+time.Second {
			t.Errorf("a later one took %v", took)
		}
	})
}

func TestAHeldMessageWhoseCallerGoesAwayIsDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.goAway(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if r := b.Deliver(ctx, dedup.Delivery{Key: key("1")}, mustNotRun(t)); r.Outcome != dedup.Deferred || r.Err == nil {
			t.Errorf("got %v, %v; want deferred with a reason", r.Outcome, r.Err)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("took %v", took)
		}
		time.Sleep(time.Minute)
	})
}

func TestHoldingIsLoggedWhenItBeginsAndWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := &halfLost{Store: newBench(t, nil).store}
		g, err := dedup.New(l, dedup.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { g.Deliver(t.Context(), dedup.Delivery{Key: key("lost")}, succeed) })
		}
		time.Sleep(20 * time.Second)
		l.back.Store(true)
		all.Wait()
		begins := strings.Count(out.String(), "messages are held")
		if ends := strings.Count(out.String(), "no message is held"); begins != 1 || ends != 1 {
			t.Errorf("got %d and %d lines, want one each:\n%s", begins, ends, &out)
		}
	})
}

func TestAnErrorThatWaitingCannotMendIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &answering{err: &store.Error{Class: store.Permanent, Err: errBoom}}
		b := newBench(t, func(s store.Store) store.Store { broken.Store = s; return broken })
		began := time.Now()
		want(t, b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, mustNotRun(t)), dedup.Deferred, errBoom)
		if took := time.Since(began); took > time.Second || broken.claims != 1 {
			t.Errorf("took %v and %d claims", took, broken.claims)
		}
	})
}
