package listener_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

func TestShutdownWaitsForRunningCallbacksAndHoldsNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cb := r.Each(func(ctx context.Context, m *primitive.MessageExt) error {
			time.Sleep(10 * time.Second)
			return r.handler()(ctx, m)
		})
		results := make(chan consumer.ConsumeResult, 2)
		deliver := func(id string) { result, _ := consume(t, cb, orders(id)...); results <- result }
		go deliver("1")
		time.Sleep(time.Second)
		go func() { time.Sleep(time.Second); deliver("2") }()
		c := &stopper{}
		if err := r.Shutdown(t.Context(), c); err != nil {
			t.Error(err)
		}
		if first, second := <-results, <-results; first != success || second != retry {
			t.Errorf("got %v, %v; want success, retry", first, second)
		}
		r.wantRan(t, "1")
		if c.stops != 1 {
			t.Errorf("the consumer was stopped %d times", c.stops)
		}
		if err := r.Shutdown(t.Context(), c); err == nil || c.stops != 1 {
			t.Errorf("a second shutdown: got %v and %d stops", err, c.stops)
		}
	})
}

// pausing is a consumer that can stop pulling, as the client can.
type pausing struct {
	stopper
	suspended, stopped time.Time
}

func (p *pausing) Suspend() { p.suspended = time.Now() }

func (p *pausing) Shutdown() error {
	p.stopped = time.Now()
	return p.stopper.Shutdown()
}

// The client panics, once in a few hundred times under load, when it has pulled
// something while its Shutdown closes the queues.
func TestShutdownEndsPullingBeforeItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c, began := newRig(t, listener.Options{}), &pausing{}, time.Now()
		cb := r.Each(func(context.Context, *primitive.MessageExt) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		go consume(t, cb, orders("1")...)
		synctest.Wait()
		if err := r.Shutdown(t.Context(), c); err != nil {
			t.Error(err)
		}
		if !c.suspended.Equal(began) || c.stopped.Sub(began) < 10*time.Second {
			t.Errorf("suspended after %v and stopped after %v, want at once and after the callback, 10 s",
				c.suspended.Sub(began), c.stopped.Sub(began))
		}
	})
}

func TestShutdownOutOfTimeCancelsWhatStillRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cause := make(chan error, 1)
		cb := r.Each(func(ctx context.Context, _ *primitive.MessageExt) error {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return ctx.Err()
		})
		go consume(t, cb, orders("1")...)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c := &stopper{err: errBoom}
		err := r.Shutdown(ctx, c)
		if !errors.Is(err, listener.ErrDraining) || !errors.Is(err, errBoom) ||
			!strings.Contains(err.Error(), "1 callbacks") {
			t.Errorf("got %v, want one callback left and the consumer's error", err)
		}
		if got := <-cause; got != listener.ErrDraining {
			t.Errorf("cause: got %v, want ErrDraining", got)
		}
	})
}

func TestADrainEndsTheWaitOfALastDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 1})
		claim(t, r.store, "1")
		answered := make(chan consumer.ConsumeResult, 1)
		c := &stopper{}
		go func() {
			result, _ := consume(t, r.Each(r.handler()), orders("1")...)
			if c.stops == 0 {
				t.Error("answered before the consumer had stopped: the message would be buried")
			}
			answered <- result
		}()
		time.Sleep(time.Second)
		if err := r.Shutdown(t.Context(), c); err != nil {
			t.Error(err)
		}
		if got := <-answered; got != retry {
			t.Errorf("got %v, want retry", got)
		}
	})
}
