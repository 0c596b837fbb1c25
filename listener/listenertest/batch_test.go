package listenertest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ledger counts the effects of a batch by order.
type ledger struct {
	mu    sync.Mutex
	count map[string]int
}

func (l *ledger) add(order string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[order]++
}

// batchOf is the body of a test whose handlers run at the same time, of a batch
// with orders 1, 2 and 3. check judges how often each was charged.
func batchOf(check func(order string, charges int) error) func(*listenertest.Run) error {
	return func(r *listenertest.Run) error {
		l := &ledger{count: map[string]int{}}
		r.Start(func(c *listenertest.Consumer, records store.Store) error {
			d, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
				BatchSize: 3, Key: listener.KeyFromKeys(), Guard: dedup.Options{Logger: slog.New(slog.DiscardHandler)},
			})
			if err != nil {
				return err
			}
			charge := func(ctx context.Context, m *primitive.MessageExt) error {
				return r.Effect(ctx, "charge "+m.GetKeys(), func() error { l.add(m.GetKeys()); return nil })
			}
			return d.Subscribe(c, "orders", consumer.MessageSelector{}, charge)
		})
		r.Deliver(order("1"), order("2"), order("3"))
		var errs []error
		for _, o := range []string{"1", "2", "3"} {
			errs = append(errs, check(o, l.count[o]))
		}
		return errors.Join(errs...)
	}
}

func TestABatchPassesAllPointsAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		err := listenertest.TestCrashes(batchOf(func(order string, charges int) error {
			runs++
			if charges < 1 || charges > 2 {
				return fmt.Errorf("order %s was charged %d times, want 1 or 2", order, charges)
			}
			return nil
		}))
		if err != nil {
			t.Error(err)
		}
		// One without a fault, seven for each of three effects, two for the claim of
		// the batch, five for each call that records ends, and the copy.
		if got, want := runs/3, 1+3*7+2+5+1; got < want {
			t.Errorf("got %d runs, want %d or more", got, want)
		}
	})
}

func TestABatchIsCaughtByMessage(t *testing.T) {
	err := listenertest.TestCrashes(batchOf(func(order string, charges int) error {
		if charges != 1 {
			return fmt.Errorf("order %s was charged %d times", order, charges)
		}
		return nil
	}), listenertest.ReplyLost)
	got := points(err)
	slices.Sort(got)
	want := []string{`lost reply of "charge 1"`, `lost reply of "charge 2"`, `lost reply of "charge 3"`}
	if !slices.Equal(got, want) {
		t.Errorf("caught at %q, want %q", got, want)
	}
}
