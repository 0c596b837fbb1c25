package dedup_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// quickly makes the guard expect quick callbacks.
func quickly(t *testing.T, b *bench) {
	t.Helper()
	results := b.DeliverEach(t.Context(), ofKeys("q1", "q2"), 2, func(context.Context, int) error { return nil })
	wantOutcomes(t, results, dedup.Ran, dedup.Ran)
}

func TestASlowBatchAfterAQuickOneStillRunsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		quickly(t, b)
		began := time.Now()
		b.DeliverEach(t.Context(), ofKeys("1", "2", "3", "4", "5", "6"), 6, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		})
		if took := time.Since(began); took > time.Second+10*time.Millisecond {
			t.Errorf("six callbacks of 1s, six at once, took %v", took)
		}
	})
}

func TestCallbacksOfABatchMayWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		quickly(t, b)
		var all sync.WaitGroup
		all.Add(4)
		results := b.DeliverEach(t.Context(), ofKeys("1", "2", "3", "4"), 4, func(context.Context, int) error {
			all.Done()
			all.Wait()
			return nil
		})
		wantOutcomes(t, results, dedup.Ran, dedup.Ran, dedup.Ran, dedup.Ran)
	})
}

func TestACallbackThatExitsItsGoroutineStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		quickly(t, b)
		began := time.Now()
		results := b.DeliverEach(t.Context(), ofKeys("1", "2", "3"), 1, func(_ context.Context, i int) error {
			if i < 2 {
				runtime.Goexit()
			}
			return nil
		})
		wantOutcomes(t, results, dedup.Failed, dedup.Failed, dedup.Ran)
		if took := time.Since(began); took != 0 {
			t.Errorf("the others waited %v", took)
		}
	})
}

func TestRunTimeIsThatOfTheCallbackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int64
		g := guardWith(t, dedup.Options{Observer: dedup.ObserverFunc(func(_ context.Context, e dedup.Event) {
			most.Store(max(most.Load(), int64(e.RunTime)))
		})})
		g.DeliverEach(t.Context(), ofKeys("1", "2", "3"), 1, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		})
		if got := time.Duration(most.Load()); got != time.Second {
			t.Errorf("longest run of three, one at a time: got %v, want 1s", got)
		}
	})
}
