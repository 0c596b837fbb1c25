package dedup_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func benchGuard(b testing.TB) *dedup.Guard {
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	g, err := dedup.New(s, dedup.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func TestADoneCopyAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates by itself")
	}
	g, k, ctx := benchGuard(t), key("1"), context.Background()
	deliver := func() {
		if _, err := g.Do(ctx, k, dedup.Policy{}, succeed); err != nil {
			t.Fatal(err)
		}
	}
	deliver()
	if got := testing.AllocsPerRun(1000, deliver); got != 0 {
		t.Errorf("allocations: got %v, want 0", got)
	}
}

func BenchmarkDoneCopy(b *testing.B) {
	g, k, ctx := benchGuard(b), key("1"), context.Background()
	g.Do(ctx, k, dedup.Policy{}, succeed)
	b.ReportAllocs()
	for b.Loop() {
		if outcome, _ := g.Do(ctx, k, dedup.Policy{}, succeed); outcome != dedup.Skipped {
			b.Fatal(outcome)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	g, ctx := benchGuard(b), context.Background()
	p := dedup.Policy{Keep: 1e6} // a millisecond: the store stays small
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if outcome, err := g.Do(ctx, key(strconv.Itoa(i)), p, succeed); outcome != dedup.Ran {
			b.Fatal(outcome, err)
		}
	}
}
