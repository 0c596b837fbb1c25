package listener_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

func TestMessagesReachTheHandlerOfTheirOwnTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 32})
		subs := subscriptions{}
		for _, topic := range []string{"orders", "refunds"} {
			err := r.Subscribe(subs, topic, consumer.MessageSelector{},
				func(_ context.Context, m *primitive.MessageExt) error {
					if m.Topic != topic {
						t.Errorf("the handler of %s got a message of %s", topic, m.Topic)
					}
					return r.handler()(nil, m)
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		mixed := []*primitive.MessageExt{
			delivered("orders", "1", 1), delivered("refunds", "1", 1), delivered("refunds", "2", 1),
		}
		want(t, subs["orders"], success, 0, mixed...)
		r.wantRan(t, "1", "1", "2")
	})
}

func TestACallbackSubscribedByHandIsKnownByItsFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 32})
		first, second := r.Each(r.handler()), r.Each(r.handler())
		want(t, first, retry, 4, delivered("orders", "1", 1), delivered("refunds", "2", 1))
		r.wantRan(t, "1")
		want(t, second, success, 0, delivered("refunds", "3", 0))
		want(t, first, success, 0, delivered("orders", "1", 2), delivered("refunds", "2", 2))
		r.wantRan(t, "1", "3", "2")
	})
}

func TestABatchMayMixWrappedCallbacksAndHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 32})
		wrapped, each := r.Wrap(r.callback()), r.Each(r.handler())
		want(t, each, success, 0, delivered("refunds", "0", 0))
		want(t, wrapped, success, 0, delivered("orders", "0", 0))
		want(t, wrapped, success, 0, delivered("orders", "1", 0), delivered("refunds", "2", 0), delivered("orders", "3", 0))
		want(t, each, success, 0, delivered("refunds", "4", 0), delivered("refunds", "5", 0), delivered("orders", "6", 0))
		r.wantRan(t, "0", "0", "1", "2", "3", "4", "5", "6")
	})
}

func TestASingleCallbackTakesEveryTopic(t *testing.T) {
	for name, subscribe := range map[string]func(*rig) listener.Callback{
		"by hand": func(r *rig) listener.Callback { return r.Each(r.handler()) },
		"by Subscribe": func(r *rig) listener.Callback {
			subs := subscriptions{}
			if err := r.Subscribe(subs, "orders", consumer.MessageSelector{}, r.handler()); err != nil {
				t.Error(err)
			}
			return subs["orders"]
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{BatchSize: 8})
				want(t, subscribe(r), success, 0, delivered("orders", "1", 1), delivered("refunds", "2", 1))
				r.wantRan(t, "1", "2")
			})
		})
	}
}

func TestATopicWithoutAKeyOfItsOwnTakesTheListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{Topics: []listener.Topic{{Name: "orders"}}})
		want(t, r.Each(r.handler()), success, 0, orders("1")...)
		if got := r.events[0].Key.ID; got != "1" {
			t.Errorf("key: got %q, want 1 from KEYS", got)
		}
	})
}

func TestRoutesAreLearnedByManyAtOnce(t *testing.T) {
	r := newRig(t, listener.Options{BatchSize: 8})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			cb := r.Each(func(context.Context, *primitive.MessageExt) error { return nil })
			for i := range 20 {
				topic := strconv.Itoa(n)
				consume(t, cb, delivered(topic, strconv.Itoa(i), 0), delivered(strconv.Itoa((n+1)%8), "x", 0))
			}
		})
	}
	all.Wait()
}
