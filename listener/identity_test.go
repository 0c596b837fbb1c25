package listener_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestKeysSeparateTopicsTagsAndApplications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{Namespace: "NS1"})
		cb := r.Each(r.handler())
		tagged := delivered("orders", "1", 0)
		tagged.WithTag("eu")
		spaced := delivered("NS1%orders", "1", 0)
		late := delivered("%RETRY%billing", "1", 1)
		late.WithProperty(primitive.PropertyRetryTopic, "NS1%orders")
		for _, m := range []*primitive.MessageExt{
			delivered("orders", "1", 0), tagged, delivered("refunds", "1", 0), spaced, late,
		} {
			want(t, cb, success, 0, m)
		}
		r.wantRan(t, "1", "1", "1") // the namespace and the retry topic are no part of a key
		if got := r.events[1].Key; got != (store.Key{Application: "billing", Topic: "orders", Tag: "eu", ID: "1"}) {
			t.Errorf("key: got %+v", got)
		}
	})
}

func TestAMessageWithoutAKeyTakesTheDefaultKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := func(*primitive.MessageExt) (string, error) { return "", nil }
		r := newRig(t, listener.Options{Key: none})
		cb := r.Each(r.handler())
		for _, id := range []string{"1", "2", "1"} {
			want(t, cb, success, 0, orders(id)...)
		}
		r.wantRan(t, "1", "2")
		if !r.events[0].Fallback {
			t.Error("the event does not tell of the fallback")
		}
	})
}

func TestAKeyFunctionThatFailsDefersTheMessage(t *testing.T) {
	for name, f := range map[string]listener.KeyFunc{
		"error": func(*primitive.MessageExt) (string, error) { return "half", errBoom },
		"panic": func(*primitive.MessageExt) (string, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{Topics: []listener.Topic{{Name: "orders", Key: f}}})
				cb := r.Each(r.handler())
				want(t, cb, retry, 3, orders("1")...)
				want(t, cb, success, 0, delivered("refunds", "2", 0))
				r.wantRan(t, "2")
				if e := r.events[0]; e.Outcome != dedup.Deferred || !errors.Is(e.Err, listener.ErrKey) {
					t.Errorf("event: got %+v", e)
				}
			})
		})
	}
}
