package listener_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestTheDelayCoversTheLeaseInAnyTable(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		table      []time.Duration
		left       time.Duration
		reconsumed int32
		level      int
	}{
		"the smallest that covers":            {nil, 50 * s, 0, 5},
		"with a margin for a late store":      {nil, 60 * s, 0, 6},
		"just covered":                        {nil, 60*s - 100*time.Millisecond, 0, 5},
		"the broker's own when that is later": {nil, 50 * s, 6, 9},
		"the longest when none covers":        {nil, 10 * time.Hour, 0, 18},
		"the broker's own at the end":         {nil, 50 * s, 100, 18},
		"a lease without end":                 {nil, math.MaxInt64, 0, 18},
		"an unsorted table":                   {[]time.Duration{90 * s, s, 2 * s, 3 * s}, 50 * s, 1, 1},
		"an unsorted table that is too short": {[]time.Duration{90 * s, s, 2 * s, 3 * s}, 500 * s, 1, 1},
		"a single level":                      {[]time.Duration{s}, 50 * s, 9, 1},
		"a count that makes no sense":         {nil, 0, -7, 3},
		"a count out of the number range":     {nil, 0, math.MaxInt32 - 1, 18},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := listener.NewDedupConcurrentListener("g", busy(c.left), listener.Options{
					DelayLevels: c.table, MaxReconsumeTimes: math.MaxInt32, Guard: quiet(), LastWait: time.Nanosecond,
				})
				if err != nil {
					t.Fatal(err)
				}
				want(t, l.Each(nothing), retry, c.level, delivered("orders", "1", c.reconsumed))
			})
		})
	}
}

func TestABatchTakesTheLongestOfItsDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{
			BatchSize: 8, DelayLevels: []time.Duration{time.Hour, time.Second, 2 * time.Minute, 3 * time.Second},
		})
		claimFor(t, r.store, "long", 10*time.Minute)
		claimFor(t, r.store, "short", time.Second)
		cb := r.Each(r.handler("fails"))
		want(t, cb, retry, 1, orders("long", "short", "fails")...)
		want(t, cb, retry, 1, orders("short", "fails", "long")...)
	})
}

func TestABusyMessageDoesNotHurryAFailingSibling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		claimFor(t, r.store, "busy", time.Second)
		cb := r.Each(r.handler("fails"))
		want(t, cb, retry, 9, delivered("orders", "fails", 6), delivered("orders", "busy", 0))
		want(t, cb, retry, 0, delivered("orders", "fails", 6), delivered("orders", "fine", 0)) // the broker's choice
	})
}

func TestARetryBudgetDoesNotOverflow(t *testing.T) {
	began := time.Now()
	got := strings.Join(listener.Options{
		Key:               listener.DefaultKey(),
		MaxReconsumeTimes: math.MaxInt32,
		Policy:            dedup.Policy{Keep: store.MaxDuration},
	}.Warnings(), "\n")
	if got != "" {
		t.Errorf("a message retried for ever whose record is kept for ever: got %s", got)
	}
	got = strings.Join(listener.Options{
		MaxReconsumeTimes: math.MaxInt32, DelayLevels: []time.Duration{time.Millisecond},
	}.Warnings(), "\n")
	if !strings.Contains(got, "may come back for 596h31m23.647s") {
		t.Errorf("2^31-1 retries of a millisecond: got %q", got)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestADelayBeyondAllRecordsIsRefused(t *testing.T) {
	o := listener.Options{DelayLevels: []time.Duration{time.Second, store.MaxDuration + 1}}
	if _, err := listener.NewDedupConcurrentListener("g", busy(0), o); err == nil ||
		!strings.Contains(err.Error(), "DelayLevels[1]") {
		t.Errorf("got %v, want it to name the level", err)
	}
	o.DelayLevels[1]--
	o.Guard = quiet()
	if _, err := listener.NewDedupConcurrentListener("g", busy(0), o); err != nil {
		t.Errorf("got %v, want the longest of all delays accepted", err)
	}
	for _, none := range [][]time.Duration{{}, {time.Second, 0}} {
		if got := (listener.Options{DelayLevels: none, MaxReconsumeTimes: 100}).Warnings(); len(got) != 0 {
			t.Errorf("levels %v, which do not work at all: got %v", none, got)
		}
	}
}

func nothing(context.Context, *primitive.MessageExt) error { return nil }

// busy is a store in which every key is claimed for so long.
type busy time.Duration

func (b busy) Claim(context.Context, store.ClaimRequest) (store.Verdict, error) {
	return store.Verdict{State: store.Busy, Left: time.Duration(b)}, nil
}

func (busy) Complete(context.Context, store.Key, store.Token, time.Duration) (store.Completion, error) {
	return store.Completed, nil
}

func (busy) Release(context.Context, store.Key, store.Token, bool) error { return nil }
