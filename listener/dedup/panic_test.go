package dedup_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func guardWith(t *testing.T, o dedup.Options) *dedup.Guard {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := dedup.New(mem, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// deliverBothWays delivers a message alone and two as a batch.
func deliverBothWays(t *testing.T, g *dedup.Guard, want dedup.Outcome) {
	t.Helper()
	ds := []dedup.Delivery{{Key: key("1"), Policy: short()}, {Key: key("2"), Policy: short()}}
	results := g.DeliverTogether(t.Context(), ds, func(context.Context, []int) error { return nil })
	results = append(results, g.Deliver(t.Context(), dedup.Delivery{Key: key("3"), Policy: short()}, succeed))
	for i, r := range results {
		if r.Outcome != want {
			t.Errorf("%d: got %v, %v; want %v", i, r.Outcome, r.Err, want)
		}
	}
	if s := g.Stats(); s != (dedup.Stats{}) {
		t.Errorf("gauges at the end: got %+v, want zero", s)
	}
}

func TestAnObserverThatPanicsChangesNoOutcome(t *testing.T) {
	var out bytes.Buffer
	g := guardWith(t, dedup.Options{
		Logger:   slog.New(slog.NewTextHandler(&out, nil)),
		Observer: dedup.ObserverFunc(func(context.Context, dedup.Event) { panic("boom") }),
	})
	deliverBothWays(t, g, dedup.Ran)
	if n := strings.Count(out.String(), "observer panicked"); n != 3 || !strings.Contains(out.String(), "boom") {
		t.Errorf("the log tells of %d panics, want 3:\n%s", n, out.String())
	}
}

func TestALogHandlerThatPanicsChangesNoOutcome(t *testing.T) {
	told := 0
	g := guardWith(t, dedup.Options{
		Logger:   slog.New(panicking{}),
		Observer: dedup.ObserverFunc(func(context.Context, dedup.Event) { told++; panic("boom") }),
	})
	d := dedup.Delivery{Key: key("1"), Policy: short()}
	want(t, g.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
	want(t, g.Deliver(t.Context(), d, succeed), dedup.Ran, nil)
	if told != 2 {
		t.Errorf("the observer was told %d times, want 2", told)
	}
}

func TestAnObserverThatEndsItsGoroutineHoldsUpNoBatch(t *testing.T) {
	g := guardWith(t, dedup.Options{
		Logger:   slog.New(slog.DiscardHandler),
		Observer: dedup.ObserverFunc(func(context.Context, dedup.Event) { runtime.Goexit() }),
	})
	ds := make([]dedup.Delivery, 100)
	for i := range ds {
		ds[i] = dedup.Delivery{Key: key("same"), Policy: short()}
	}
	outcomes := map[dedup.Outcome]int{}
	for _, r := range g.DeliverTogether(t.Context(), ds, func(context.Context, []int) error { return nil }) {
		outcomes[r.Outcome]++
	}
	if outcomes[dedup.Ran] != 1 || outcomes[dedup.Deferred] != 99 {
		t.Errorf("got %v, want one run and 99 deferred copies", outcomes)
	}
}

// panicking is a log handler that always does.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("no log") }
