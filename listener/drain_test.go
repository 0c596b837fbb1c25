package listener_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// shutdownAfter drains r for at most limit and returns its error.
func shutdownAfter(r *rig, limit time.Duration, c listener.Stopper) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return r.Shutdown(ctx, c)
}

func TestADrainOutOfTimeStartsNoMoreOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8, Parallel: 1})
		cb := r.Each(func(ctx context.Context, m *primitive.MessageExt) error {
			r.handler()(ctx, m)
			time.Sleep(10 * time.Second) // whatever its context says
			return nil
		})
		done := make(chan consumer.ConsumeResult, 1)
		go func() { result, _ := consume(t, cb, orders("1", "2", "3")...); done <- result }()
		synctest.Wait()
		if err := shutdownAfter(r, 5*time.Second, &stopper{}); !errors.Is(err, listener.ErrDraining) {
			t.Errorf("got %v, want ErrDraining", err)
		}
		if got := <-done; got != retry {
			t.Errorf("got %v, want retry", got)
		}
		r.wantRan(t, "1")
	})
}

func TestADrainOutOfTimeEndsVerifiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause atomic.Value
		r := newRig(t, listener.Options{Policy: dedup.Policy{
			Verifier: func(ctx context.Context, _ store.Key) (dedup.Finding, error) {
				<-ctx.Done()
				cause.Store(context.Cause(ctx))
				return dedup.NotHappened, nil // and would run
			},
		}})
		want(t, r.Each(func(context.Context, *primitive.MessageExt) error { return errBoom }), retry, 0, orders("1")...)
		cb := r.Each(r.handler())
		go consume(t, cb, orders("1")...)
		synctest.Wait()
		shutdownAfter(r, 5*time.Second, &stopper{})
		synctest.Wait()
		if cause.Load() != listener.ErrDraining {
			t.Errorf("cause: got %v, want ErrDraining", cause.Load())
		}
		r.wantRan(t)
	})
}

func TestAMessageCutOffByADrainKeepsItsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 1})
		cb := r.Each(func(ctx context.Context, _ *primitive.MessageExt) error {
			<-ctx.Done()
			return ctx.Err()
		})
		c := &slowStopper{}
		var answered sync.WaitGroup
		answered.Go(func() {
			if result, _ := consume(t, cb, orders("1")...); result != retry || !c.stopped.Load() {
				t.Errorf("answered %v with the consumer stopped: %t; before that it would be buried", result, c.stopped.Load())
			}
		})
		synctest.Wait()
		if err := shutdownAfter(r, time.Second, c); !errors.Is(err, listener.ErrDraining) {
			t.Errorf("got %v, want ErrDraining", err)
		}
		answered.Wait()
	})
}

func TestAMessageThatFailsDuringADrainIsSentBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cb := r.Each(func(context.Context, *primitive.MessageExt) error {
			time.Sleep(time.Second)
			return errBoom
		})
		c := &slowStopper{}
		var answered sync.WaitGroup
		answered.Go(func() {
			if result, _ := consume(t, cb, orders("1")...); result != retry || c.stopped.Load() {
				t.Errorf("answered %v with the consumer stopped: %t; want retry while it listens", result, c.stopped.Load())
			}
		})
		synctest.Wait()
		if err := shutdownAfter(r, time.Minute, c); err != nil {
			t.Error(err)
		}
		answered.Wait()
	})
}

func TestAContextOfOnesOwnEndsWithTheDrainToo(t *testing.T) {
	type mark struct{}
	for name, c := range map[string]struct {
		ends  bool // the caller's context can end
		first bool // and does, before the drain
		cause error
	}{
		"one that cannot end": {false, false, listener.ErrDraining},
		"one that does not":   {true, false, listener.ErrDraining},
		"one that ends first": {true, true, errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{})
				cb := r.Each(func(ctx context.Context, _ *primitive.MessageExt) error {
					<-ctx.Done()
					if got := context.Cause(ctx); got != c.cause || ctx.Value(mark{}) != "value" {
						t.Errorf("cause %v and value %v, want %v and value", got, ctx.Value(mark{}), c.cause)
					}
					return ctx.Err()
				})
				ctx := context.WithValue(context.Background(), mark{}, "value")
				cancel := func(error) {}
				if c.ends {
					ctx, cancel = context.WithCancelCause(ctx)
				}
				var answered sync.WaitGroup
				answered.Go(func() { cb(ctx, orders("1")...) })
				synctest.Wait()
				if c.first {
					cancel(errBoom)
				}
				synctest.Wait()
				if err := shutdownAfter(r, time.Second, &stopper{}); errors.Is(err, listener.ErrDraining) == c.first {
					t.Errorf("shutdown: got %v", err)
				}
				answered.Wait()
				cancel(nil)
			})
		})
	}
}

func TestTheGateOpensWhateverTheConsumerDoes(t *testing.T) {
	for name, stop := range map[string]func(){
		"panic": func() { panic("boom") }, "goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{})
				go func() {
					defer func() { _ = recover() }() // the consumer's own
					r.Shutdown(t.Context(), stopFunc(stop))
				}()
				time.Sleep(time.Millisecond)
				want(t, r.Each(r.handler()), retry, 0, orders("1")...) // or waits for ever
			})
		})
	}
}

func TestTheConsumerStopsAShortWhileAfterTheLastCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		began := time.Now()
		err := r.Shutdown(t.Context(), &stopper{err: errBoom})
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("took %v, want a tenth of a second for the client to note its offsets", took)
		}
		if !errors.Is(err, errBoom) || errors.Is(err, listener.ErrDraining) ||
			!strings.Contains(err.Error(), "shutdown of the consumer") {
			t.Errorf("got %v, want the consumer's error, named so", err)
		}
	})
}

func TestAShutdownWithoutAConsumerClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		if err := r.Shutdown(t.Context(), nil); err == nil {
			t.Error("a nil consumer was shut down")
		}
		want(t, r.Each(r.handler()), success, 0, orders("1")...)
	})
}

// slowStopper takes a second to stop.
type slowStopper struct{ stopped atomic.Bool }

func (s *slowStopper) Shutdown() error {
	time.Sleep(time.Second)
	s.stopped.Store(true)
	return nil
}

type stopFunc func()

func (f stopFunc) Shutdown() error { f(); return nil }
