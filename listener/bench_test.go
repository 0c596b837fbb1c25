package listener_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func benchListener(b testing.TB) listener.Callback {
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	l, err := listener.NewDedupConcurrentListener("billing", mem, listener.Options{
		Key: listener.KeyFromKeys(), Policy: dedup.Policy{Keep: time.Second}, Guard: quiet(), BatchSize: 32,
	})
	if err != nil {
		b.Fatal(err)
	}
	return l.Each(func(context.Context, *primitive.MessageExt) error { return nil })
}

func BenchmarkOneMessage(b *testing.B) {
	cb, m := benchListener(b), delivered("orders", "1", 0)
	ctx := primitive.WithConcurrentlyCtx(context.Background(), primitive.NewConsumeConcurrentlyContext())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.WithKeys([]string{strconv.Itoa(i)})
		if result, _ := cb(ctx, m); result != success {
			b.Fatal(result)
		}
	}
}

func BenchmarkBatchOf32(b *testing.B) {
	cb := benchListener(b)
	batch := make([]*primitive.MessageExt, 32)
	for i := range batch {
		batch[i] = delivered("orders", "1", 0)
	}
	ctx := primitive.WithConcurrentlyCtx(context.Background(), primitive.NewConsumeConcurrentlyContext())
	b.ReportAllocs()
	for i := 0; b.Loop(); i += len(batch) {
		for n, m := range batch {
			m.WithKeys([]string{strconv.Itoa(i + n)})
		}
		if result, _ := cb(ctx, batch...); result != success {
			b.Fatal(result)
		}
	}
}

func TestABatchAllocatesAFewTimesForEachMessage(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates by itself")
	}
	cb := benchListener(t)
	ctx := primitive.WithConcurrentlyCtx(context.Background(), primitive.NewConsumeConcurrentlyContext())
	batch := make([]*primitive.MessageExt, 32)
	for i := range batch {
		batch[i] = delivered("orders", strconv.Itoa(i), 0)
	}
	got := testing.AllocsPerRun(100, func() {
		if result, _ := cb(ctx, batch...); result != success {
			t.Fatal(result)
		}
	})
	if most := float64(2 * len(batch)); got > most {
		t.Errorf("allocations for %d copies of finished work: got %v, want at most %v", len(batch), got, most)
	}
}
