package listener_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestACopyIsAcknowledgedWithoutARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cb := r.Each(r.handler())
		want(t, cb, success, 0, orders("1")...)
		want(t, cb, success, 0, orders("1")...)
		r.wantRan(t, "1")
	})
}

func TestAFailedMessageIsSentBackAndRunsAgain(t *testing.T) {
	for name, h := range map[string]listener.Handler{
		"error": func(context.Context, *primitive.MessageExt) error { return errBoom },
		"panic": func(context.Context, *primitive.MessageExt) error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{})
				want(t, r.Each(h), retry, 0, orders("1")...)
				want(t, r.Each(r.handler()), success, 0, delivered("orders", "1", 1))
				r.wantRan(t, "1")
			})
		})
	}
}

func TestAnInFlightCopyIsDelayedPastTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{Policy: dedup.Policy{Lease: 25 * time.Second}})
		var cb listener.Callback
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			want(t, cb, retry, 4, orders("1")...)              // 30 s cover the lease
			want(t, cb, retry, 8, delivered("orders", "1", 5)) // the broker's own 4 min are later
			time.Sleep(20 * time.Second)                       // renewed at 16.7 s
			want(t, cb, retry, 4, delivered("orders", "1", 0)) // about 21 s are left
			return nil
		})
		want(t, cb, success, 0, orders("1")...)
	})
}

func TestAnEventTellsWhetherTheBrokerRepeatsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		for n := range int32(3) {
			want(t, r.Each(r.handler()), success, 0, delivered("orders", "1", n))
			if got := r.events[n].Redelivered; got != (n > 0) {
				t.Errorf("reconsumed %d times: redelivered is %t", n, got)
			}
		}
	})
}

func TestAnOrderlyConsumerLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cb := r.Each(r.handler("1"))
		octx := primitive.NewConsumeOrderlyContext()
		got, _ := cb(primitive.WithOrderlyCtx(context.Background(), octx), orders("1")...)
		if got != consumer.SuspendCurrentQueueAMoment || octx.SuspendCurrentQueueTimeMillis != 1000 {
			t.Errorf("got %v, %d ms; want suspend, 1000 ms", got, octx.SuspendCurrentQueueTimeMillis)
		}
	})
}
