package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestNewReportsEveryBadOption(t *testing.T) {
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []store.Store{nil, (*memstore.Store)(nil)} {
		if _, err := dedup.New(none, dedup.Options{}); err == nil {
			t.Errorf("%#v was accepted as a store", none)
		}
	}
	_, err = dedup.New(mem, dedup.Options{CallTimeout: -1, ClaimTimeout: time.Microsecond, SettleTimeout: -1})
	for _, field := range []string{"CallTimeout", "ClaimTimeout", "SettleTimeout"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
}

func TestNoDurationIsTooLongForTheArithmetic(t *testing.T) {
	const forever = time.Duration(1<<63 - 1)
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dedup.New(mem, dedup.Options{CallTimeout: forever, ClaimTimeout: forever, SettleTimeout: forever,
		JournalLimit: 1_000_001})
	for _, field := range []string{"CallTimeout", "ClaimTimeout", "SettleTimeout", "JournalLimit"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
	const least = time.Millisecond
	if _, err = dedup.New(mem, dedup.Options{CallTimeout: least, ClaimTimeout: least, SettleTimeout: least}); err != nil {
		t.Errorf("timeouts of a millisecond: got %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		const most = store.MaxDuration
		f := &storetest.Faults{}
		b := newBench(t, func(s store.Store) store.Store { return storetest.Flaky(s, f) })
		g, err := dedup.New(storetest.Flaky(b.store, f), dedup.Options{
			CallTimeout: most, ClaimTimeout: most, SettleTimeout: most,
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Next(storetest.Claim, storetest.CutAfter)
		f.Next(storetest.Complete, storetest.CutBefore)
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{Lease: most, MaxConsume: most, Keep: most, Horizon: most}}
		r := g.Deliver(t.Context(), d, holdFor(time.Hour))
		if want(t, r, dedup.Ran, nil); r.Cancelled || r.Unrecorded {
			t.Errorf("got %+v, want neither cancelled nor unrecorded", r)
		}
	})
}

func TestPolicyNamesEveryBadField(t *testing.T) {
	bad := dedup.Policy{Lease: time.Millisecond, MaxConsume: -1, Keep: -1, Horizon: -1, MaxAttempts: -1, Outage: 9,
		HoldLimit: -1, BusyWait: -1,
	}
	err := bad.Validate()
	for _, field := range []string{
		"Lease", "MaxConsume", "Keep", "Horizon", "MaxAttempts", "Outage", "HoldLimit", "BusyWait",
	} {
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "Policy."+field) {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
	bad.Outage = dedup.OutageRun
	if err := bad.Validate(); strings.Contains(err.Error(), "Outage") {
		t.Errorf("got %v, want no word about a sound field", err)
	}
	short := dedup.Policy{Lease: time.Minute, MaxConsume: time.Second}
	if err := short.Validate(); err == nil || !strings.Contains(err.Error(), "shorter than Lease") {
		t.Errorf("got %v, want the contradiction named", err)
	}
}

func TestDefaultsFitTogether(t *testing.T) {
	for name, p := range map[string]dedup.Policy{
		"zero": {}, "long lease": {Lease: time.Hour}, "short max consume": {MaxConsume: time.Second},
		"fixed": dedup.FixedLease(time.Minute),
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := (dedup.Policy{}).WithDefaults(); p.Lease != 30*time.Second || p.MaxConsume != 10*time.Minute ||
		p.Keep != 24*time.Hour || p.Horizon != 3*time.Hour {
		t.Errorf("defaults: got %+v", p)
	}
	if p := dedup.FixedLease(time.Minute); p.Lease != p.MaxConsume {
		t.Errorf("fixed lease: got %+v", p)
	}
}

func TestAPolicyTakesWhatItLacksFromItsBase(t *testing.T) {
	verify := func(context.Context, store.Key) (dedup.Finding, error) { return dedup.Unknown, nil }
	base := dedup.Policy{
		Lease: 1, MaxConsume: 2, Keep: 3, Horizon: 4, MaxAttempts: 5, Outage: dedup.OutageRun, HoldLimit: 6,
		BusyWait: 7, Verifier: verify,
	}
	own := dedup.Policy{
		Lease: 11, MaxConsume: 12, Keep: 13, Horizon: 14, MaxAttempts: 15, Outage: dedup.OutageRetry, HoldLimit: 16,
		BusyWait: 17,
	}
	for name, c := range map[string]struct{ over, want dedup.Policy }{
		"nothing of its own": {dedup.Policy{}, base}, "all of its own": {own, own},
	} {
		got := c.over.Over(base)
		if got.Verifier == nil {
			t.Errorf("%s: the Verifier is lost", name)
		}
		if got, want := plainPolicy(got), plainPolicy(c.want); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func plainPolicy(p dedup.Policy) string {
	p.Verifier = nil // functions cannot be compared
	return fmt.Sprint(p)
}

func TestNamesOfOutcomesAndPolicies(t *testing.T) {
	for got, want := range map[string]string{
		dedup.Ran.String(): "ran", dedup.Failed.String(): "failed", dedup.Outcome(0).String(): "invalid",
		dedup.Outcome(5).String(): "Outcome(5)", dedup.OutageRun.String(): "run", dedup.OutageRetry.String(): "retry",
		dedup.OutageHold.String(): "hold",
		dedup.Outage(9).String():  "Outage(9)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestABadKeyOrPolicyIsDeferredBeforeTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		for name, d := range map[string]dedup.Delivery{
			"no id":      {Key: store.Key{Application: "a", Topic: "t"}},
			"bad policy": {Key: key("1"), Policy: dedup.Policy{Lease: -1}},
		} {
			r := b.Deliver(t.Context(), d, mustNotRun(t))
			if r.Outcome != dedup.Deferred || !errors.Is(r.Err, store.ErrInvalid) {
				t.Errorf("%s: got %v, %v; want deferred, invalid", name, r.Outcome, r.Err)
			}
		}
		if got := f.Calls("claim"); got != 0 {
			t.Errorf("claims: got %d, want none", got)
		}
	})
}

func TestObserversToldInOrderWithoutNils(t *testing.T) {
	var order []string
	observe := func(name string) dedup.Observer {
		return dedup.ObserverFunc(func(context.Context, dedup.Event) { order = append(order, name) })
	}
	dedup.Observers(observe("a"), nil, observe("b")).Observe(t.Context(), dedup.Event{})
	if strings.Join(order, "") != "ab" {
		t.Errorf("order: got %v, want a b", order)
	}
}
