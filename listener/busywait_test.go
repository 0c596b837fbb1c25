package listener_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestACopyThatWaitsIsAcknowledgedWithTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8, Policy: dedup.Policy{BusyWait: 5 * time.Second}})
		cb := r.Each(func(ctx context.Context, m *primitive.MessageExt) error {
			time.Sleep(2 * time.Second)
			return r.handler()(ctx, m)
		})
		var answered sync.WaitGroup
		answered.Go(func() { want(t, cb, success, 0, orders("1")...) })
		synctest.Wait()
		answered.Go(func() { want(t, cb, success, 0, orders("1")...) })
		answered.Go(func() { want(t, cb, success, 0, orders("2", "1")...) })
		answered.Wait()
		r.wantRan(t, "1", "2")
	})
}

func TestADrainSendsWaitingCopiesToTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{Policy: dedup.Policy{BusyWait: time.Minute}})
		cb := r.Each(func(ctx context.Context, m *primitive.MessageExt) error {
			time.Sleep(10 * time.Second)
			return r.handler()(ctx, m)
		})
		c := &slowStopper{}
		var answered sync.WaitGroup
		answered.Go(func() { want(t, cb, success, 0, orders("1")...) })
		synctest.Wait()
		answered.Go(func() {
			if result, _ := consume(t, cb, orders("1")...); result != retry || !c.stopped.Load() {
				t.Errorf("answered %v with the consumer stopped: %t; before that it costs a retry", result, c.stopped.Load())
			}
		})
		time.Sleep(time.Second)
		if got := r.Stats().Waiting; got != 1 {
			t.Errorf("waiting: got %d, want 1", got)
		}
		if err := shutdownAfter(r, time.Minute, c); err != nil {
			t.Error(err)
		}
		answered.Wait()
		r.wantRan(t, "1")
	})
}

func TestACopyOnItsLastDeliveryWaitsNoLongerThanLastWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{
			MaxReconsumeTimes: 1, LastWait: 20 * time.Second, Policy: dedup.Policy{BusyWait: 15 * time.Second},
		})
		cb := r.Each(func(context.Context, *primitive.MessageExt) error { time.Sleep(5 * time.Minute); return nil })
		var first sync.WaitGroup
		first.Go(func() { consume(t, cb, orders("1")...) })
		synctest.Wait()
		began := time.Now()
		if result, _ := consume(t, cb, orders("1")...); result != retry {
			t.Errorf("got %v, want retry", result)
		}
		if took := time.Since(began); took < 35*time.Second || took > 41*time.Second {
			t.Errorf("took %v, want one BusyWait and LastWait", took)
		}
		first.Wait()
	})
}
