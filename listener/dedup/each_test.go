package dedup_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func ofKeys(ids ...string) (ds []dedup.Delivery) {
	for _, id := range ids {
		ds = append(ds, dedup.Delivery{Key: key(id), Policy: short()})
	}
	return ds
}

func wantOutcomes(t *testing.T, results []dedup.Result, want ...dedup.Outcome) {
	t.Helper()
	var got []dedup.Outcome
	for _, r := range results {
		got = append(got, r.Outcome)
	}
	if !slices.Equal(got, want) {
		t.Errorf("outcomes: got %v, want %v", got, want)
	}
}

func TestEachMessageOfABatchHasItsOwnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		want(t, b.Deliver(t.Context(), ofKeys("done")[0], succeed), dedup.Ran, nil)
		ds := ofKeys("done", "ok", "fails", "panics", "exits", "dead")
		results := b.DeliverEach(t.Context(), ds, 4, func(ctx context.Context, i int) error {
			if running, ok := dedup.FromContext(ctx); !ok || running.Key != ds[i].Key {
				t.Errorf("message %d runs as %+v, %t", i, running, ok)
			}
			switch ds[i].Key.ID {
			case "fails":
				return errBoom
			case "panics":
				panic(errBoom)
			case "exits":
				runtime.Goexit()
			case "dead":
				return dedup.Permanent(errBoom)
			}
			return nil
		})
		wantOutcomes(t, results, dedup.Skipped, dedup.Ran, dedup.Failed, dedup.Failed, dedup.Failed, dedup.Failed)
		again := b.DeliverEach(t.Context(), ds, 4, func(context.Context, int) error { return nil })
		wantOutcomes(t, again, dedup.Skipped, dedup.Skipped, dedup.Ran, dedup.Ran, dedup.Ran, dedup.Deferred)
	})
}

func TestEachRunsUpToParallelAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		var mu sync.Mutex
		running, most := 0, 0
		began := time.Now()
		b.DeliverEach(t.Context(), ofKeys("1", "2", "3", "4", "5", "6"), 2, func(context.Context, int) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		})
		if took := time.Since(began); most != 2 || took > 3100*time.Millisecond {
			t.Errorf("got %d at once in %v, want 2 in 3s", most, took)
		}
	})
}

func TestAMessageThatWaitedTooLongForItsTurnIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := ofKeys("slow", "late")
		d[1].Policy.MaxConsume = 5 * time.Second
		results := b.DeliverEach(t.Context(), d, 1, func(_ context.Context, i int) error {
			if i == 1 {
				t.Error("the late one ran")
			}
			time.Sleep(10 * time.Second)
			return nil
		})
		wantOutcomes(t, results, dedup.Ran, dedup.Deferred)
		want(t, b.Deliver(t.Context(), d[1], succeed), dedup.Ran, nil)
	})
}

func TestABatchTakesOneCallForItsClaimsAndOneForItsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &countingBatches{}
		b := newBench(t, func(s store.Store) store.Store { calls.Store = s.(*memstore.Store); return calls })
		ds := ofKeys("1", "2", "3", "4")
		fn := func(_ context.Context, i int) error {
			if i == 3 {
				return errBoom
			}
			return nil
		}
		wantOutcomes(t, b.DeliverEach(t.Context(), ds, 8, fn), dedup.Ran, dedup.Ran, dedup.Ran, dedup.Failed)
		calls.want(t, "claims 4", "settles 4")
		b.DeliverEach(t.Context(), ds, 8, fn)
		calls.want(t, "claims 4", "release")
		b.DeliverTogether(t.Context(), ofKeys("5", "6"), func(context.Context, []int) error { return nil })
		calls.want(t, "claims 2", "settles 2")
	})
}

func TestACompleteBatchIsRecordedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		began := time.Now()
		b.DeliverEach(t.Context(), ofKeys("1", "2", "3"), 8, func(context.Context, int) error { return nil })
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v, want no wait: there is nobody left to wait for", took)
		}
	})
}

func TestCallsForABatchHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s store.Store) store.Store { return timedBatches{s, s.(store.Batcher), t} })
		ctx, cancel := context.WithCancel(t.Context())
		var started sync.WaitGroup
		started.Add(2)
		results := b.DeliverEach(ctx, ofKeys("1", "2"), 8, func(context.Context, int) error {
			started.Done()
			started.Wait()
			cancel() // the ends are recorded all the same
			return nil
		})
		wantOutcomes(t, results, dedup.Ran, dedup.Ran)
	})
}

// timedBatches is a store that may wait.
type timedBatches struct {
	store.Store
	batches store.Batcher
	t       *testing.T
}

func (b timedBatches) check(ctx context.Context) {
	if at, ok := ctx.Deadline(); !ok || time.Until(at) != dedup.DefaultCallTimeout || ctx.Err() != nil {
		b.t.Errorf("the call may take until %v, %t, %v; want one second", at, ok, ctx.Err())
	}
}

func (b timedBatches) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	b.check(ctx)
	return b.batches.ClaimBatch(ctx, rs)
}

func (b timedBatches) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	b.check(ctx)
	return b.batches.SettleBatch(ctx, ss)
}

func TestAMessageThatEndsLongBeforeItsBatchIsRecordedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := ofKeys("quick", "slow")
		b.DeliverEach(t.Context(), d, 2, func(ctx context.Context, i int) error {
			if i == 1 {
				time.Sleep(time.Second)
				want(t, b.Deliver(context.Background(), d[0], mustNotRun(t)), dedup.Skipped, nil)
			}
			return nil
		})
	})
}

func TestABatchWhoseRepliesAreLostGoesOnOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := &countingBatches{lose: true}
		b := newBench(t, func(s store.Store) store.Store { calls.Store = s.(*memstore.Store); return calls })
		ds := ofKeys("1", "2", "3")
		results := b.DeliverEach(t.Context(), ds, 8, func(context.Context, int) error { return nil })
		wantOutcomes(t, results, dedup.Ran, dedup.Ran, dedup.Ran)
		for _, r := range results {
			if r.Attempt != 1 || r.Completion != store.Completed {
				t.Errorf("got %+v, want completed at attempt 1", r)
			}
		}
	})
}

// countingBatches notes the calls to a store in memory, and loses the replies of
// whole batches.
type countingBatches struct {
	*memstore.Store
	lose  bool
	mu    sync.Mutex // guards calls
	calls []string
}

func (c *countingBatches) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *countingBatches) want(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.calls, want) {
		t.Errorf("calls: got %q, want %q", c.calls, want)
	}
	c.calls = nil
}

func (c *countingBatches) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	c.note("claims %d", len(rs))
	answers := c.Store.ClaimBatch(ctx, rs)
	if c.lose {
		return nil
	}
	return answers
}

func (c *countingBatches) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	c.note("settles %d", len(ss))
	answers := c.Store.SettleBatch(ctx, ss)
	if c.lose {
		return nil
	}
	return answers
}

func (c *countingBatches) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	c.note("release")
	return c.Store.Release(ctx, k, t, ran)
}
