package listenertest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// world is what outlives the crashes of one run, and the program under test.
type world struct {
	*listenertest.Run
	handler listener.Handler
	options listener.Options
	start   func(*listenertest.Consumer, store.Store) error // instead of a listener with the above

	charges int
	marked  bool
}

// inWorld is the body of a test of program, which gets a new world for each run
// and must charge once in it. It runs in a bubble.
func inWorld(program func(*world)) func(*listenertest.Run) error {
	return func(r *listenertest.Run) error {
		w := &world{Run: r}
		w.start = w.listen
		program(w)
		r.Start(w.start)
		r.Deliver(primitive.NewMessage("orders", []byte("7")))
		time.Sleep(time.Minute) // for those that do not wait for their effects
		synctest.Wait()
		if w.charges != 1 {
			return fmt.Errorf("%d charges", w.charges)
		}
		return nil
	}
}

func (w *world) listen(c *listenertest.Consumer, records store.Store) error {
	o := w.options
	o.Guard.Logger = slog.New(slog.DiscardHandler)
	l, err := listener.NewDedupConcurrentListener("billing", records, o)
	if err != nil {
		return err
	}
	return l.Subscribe(c, "orders", consumer.MessageSelector{}, w.handler)
}

func (w *world) handle(do func(context.Context) error) {
	w.handler = func(ctx context.Context, _ *primitive.MessageExt) error { return do(ctx) }
}

func (w *world) charge(ctx context.Context) error {
	return w.Effect(ctx, "charge", func() error { w.charges++; return nil })
}

// chargeOnce is a charge that can be repeated.
func (w *world) chargeOnce(ctx context.Context) error {
	return w.Effect(ctx, "charge", func() error { w.charges = 1; return nil })
}

// byHand is a program that uses the store without a listener. It repeats do until
// its success is recorded; with careless it takes a claim that failed for one that
// was refused.
func (w *world) byHand(careless bool, do func(context.Context) error) func(*listenertest.Consumer, store.Store) error {
	return func(c *listenertest.Consumer, records store.Store) error {
		return c.Subscribe("orders", consumer.MessageSelector{}, func(ctx context.Context,
			msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			k, t := store.Key{Application: "billing", Topic: "orders", ID: string(msgs[0].Body)}, store.NewToken()
			v, err := records.Claim(ctx, store.ClaimRequest{Key: k, Token: t, Lease: time.Minute, Horizon: time.Hour})
			switch {
			case err != nil && !careless, v.State == store.Busy:
				return consumer.ConsumeRetryLater, nil
			case v.State != store.Claimed:
				return consumer.ConsumeSuccess, nil
			}
			for {
				if err := do(ctx); err != nil {
					return consumer.ConsumeRetryLater, records.Release(ctx, k, t, true)
				}
				if _, err := records.Complete(ctx, k, t, time.Hour); err == nil {
					return consumer.ConsumeSuccess, nil
				}
			}
		})
	}
}

// everything is all faults, the one that waits included.
func everything() []listenertest.Fault {
	return append(listenertest.Instantly(), listenertest.Cancelled)
}

// points are the runs of err that failed, in order.
func points(err error) (all []string) {
	switch e := err.(type) {
	case *listenertest.Failure:
		return []string{e.Point}
	case interface{ Unwrap() []error }:
		for _, f := range e.Unwrap() {
			all = append(all, points(f)...)
		}
	}
	return all
}

func TestARightHandlerPassesAllPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := listenertest.TestCrashes(inWorld(func(w *world) { w.handle(w.chargeOnce) }), everything()...)
		if err != nil {
			t.Error(err)
		}
	})
}
