package dedup_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestFencesRiseFromOwnerToOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		var last int64
		for range 3 {
			b.Deliver(t.Context(), d, func(ctx context.Context) error {
				one, err := dedup.Fence(ctx)
				two, again := dedup.Fence(ctx)
				if err != nil || again != nil || one != two || one <= last {
					t.Errorf("fences: got %d, %v and %d, %v after %d", one, err, two, again, last)
				}
				last = one
				return errBoom
			})
		}
		if _, err := dedup.Fence(t.Context()); !errors.Is(err, dedup.ErrNoFence) {
			t.Errorf("outside a callback: got %v, want ErrNoFence", err)
		}
	})
}

func TestAFenceIsDrawnOnceForAllWhoAsk(t *testing.T) {
	t.Parallel() // in real time: a bubble's clock stands still while goroutines wait for a mutex
	b, f := newFlaky(t)
	f.Delay = 20 * time.Millisecond
	f.Next(storetest.Fence, storetest.Slow)
	r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: short()}, func(ctx context.Context) error {
		var all sync.WaitGroup
		numbers := make(chan int64, 10)
		for range cap(numbers) {
			all.Go(func() {
				n, err := dedup.Fence(ctx)
				if err != nil {
					t.Error(err)
				}
				numbers <- n
			})
		}
		all.Wait()
		for first := <-numbers; len(numbers) > 0; {
			if n := <-numbers; n != first {
				t.Errorf("got %d and %d, want one number", first, n)
			}
		}
		return nil
	})
	want(t, r, dedup.Ran, nil)
	if got := f.Calls(storetest.Fence); got != 1 {
		t.Errorf("got %d calls, want 1", got)
	}
}

func TestAFenceThatCannotBeDrawnIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Fence, storetest.CutBefore)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		b.Deliver(t.Context(), d, func(ctx context.Context) error {
			if n, err := dedup.Fence(ctx); n != 0 || !errors.Is(err, storetest.ErrCutBefore) {
				t.Errorf("got %d, %v; want the store's error", n, err)
			}
			if n, err := dedup.Fence(ctx); n == 0 || err != nil {
				t.Errorf("again: got %d, %v; want a number", n, err)
			}
			return errBoom
		})
		b.Deliver(t.Context(), d, func(ctx context.Context) error {
			if _, err := b.store.Complete(ctx, d.Key, store.NewToken(), time.Hour); err != nil {
				t.Error(err)
			}
			if n, err := dedup.Fence(ctx); n != 0 || !errors.Is(err, store.ErrNotOwner) {
				t.Errorf("with the claim lost: got %d, %v; want ErrNotOwner", n, err)
			}
			return nil
		})
		if n, err := dedup.Fence(t.Context()); n != 0 || !errors.Is(err, dedup.ErrNoFence) {
			t.Errorf("outside: got %d, %v; want ErrNoFence", n, err)
		}
	})
}
