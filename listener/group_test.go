package listener_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// Two groups that share a listener by mistake each want every message: what one
// has done must not be skipped by the other.
func TestAMessageForAnotherGroupIsDeferredAndRunForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		cb := r.Each(r.handler())
		if got := consumeFor(t, "audit", cb, orders("1", "2", "1")...); got != retry {
			t.Errorf("another group: got %v, want that all are sent back", got)
		}
		for _, e := range r.events {
			if e.Outcome != dedup.Deferred || !errors.Is(e.Err, listener.ErrGroup) {
				t.Errorf("another group: got %v, %v, want a deferral because of the group", e.Outcome, e.Err)
			}
		}
		if len(r.events) != 3 {
			t.Errorf("another group: got %d events, want one a message", len(r.events))
		}
		r.wantRan(t)
		for id, group := range map[string]string{"1": "billing", "2": "NS%billing", "3": ""} {
			if got := consumeFor(t, group, cb, orders(id)...); got != success {
				t.Errorf("group %q: got %v, want success", group, got)
			}
		}
		r.wantRan(t, "1", "2", "3")
	})
}

// consumeFor is consume with the group that the client tells.
func consumeFor(
	t *testing.T, group string, cb listener.Callback, msgs ...*primitive.MessageExt,
) consumer.ConsumeResult {
	t.Helper()
	ctx := primitive.WithConsumerCtx(context.Background(), &primitive.ConsumeMessageContext{ConsumerGroup: group})
	result, err := cb(primitive.WithConcurrentlyCtx(ctx, primitive.NewConsumeConcurrentlyContext()), msgs...)
	if err != nil {
		t.Errorf("the client was given the error %v", err)
	}
	return result
}
