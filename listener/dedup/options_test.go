package dedup_test

import (
	"context"
	"errors"
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
	_, err = dedup.New(mem, dedup.Options{CallTimeout: forever, ClaimTimeout: forever, SettleTimeout: forever})
	for _, field := range []string{"CallTimeout", "ClaimTimeout", "SettleTimeout"} {
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
	bad := dedup.Policy{Lease: time.Millisecond, MaxConsume: -1, Keep: -1, Horizon: -1, MaxAttempts: -1, Outage: 9}
	err := bad.Validate()
	for _, field := range []string{"Lease", "MaxConsume", "Keep", "Horizon", "MaxAttempts", "Outage"} {
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "Policy."+field) {
			t.Errorf("got %v, want it to name %s", err, field)
		}
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
