package listener_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestAPermanentFailureGoesStraightToTheDeadLetterQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{})
		cb := r.Each(func(context.Context, *primitive.MessageExt) error { return dedup.Permanent(errBoom) })
		want(t, cb, retry, -1, orders("1")...)
		want(t, cb, retry, -1, orders("1")...) // a copy of a parked message
	})
}

func TestAPermanentFailureInABatchBuriesOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{BatchSize: 8, Producer: p})
		h := func(ctx context.Context, m *primitive.MessageExt) error {
			if m.GetKeys() == "2" {
				return dedup.Permanent(errBoom)
			}
			return r.handler()(ctx, m)
		}
		want(t, r.Each(h), success, 0, orders("1", "2", "3")...)
		r.wantRan(t, "1", "3")
		if len(p.sent) != 1 || p.sent[0].Topic != "%DLQ%billing" || string(p.sent[0].Body) != "body of 2" {
			t.Fatalf("sent: got %v", p.sent)
		}
		p.err = errBoom
		want(t, r.Each(h), retry, 3, orders("4", "2")...) // cannot be buried: deferred, until it comes alone
	})
}
