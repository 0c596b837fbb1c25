package listener_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

func TestABatchHasAVerdictPerMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		batch := orders("1", "2", "3", "4", "5", "6", "7", "8")
		want(t, r.Each(r.handler("5")), retry, 0, batch...)
		r.wantRan(t, "1", "2", "3", "4", "5", "6", "7", "8")
		want(t, r.Each(r.handler()), success, 0, batch...)
		r.wantRan(t, "1", "2", "3", "4", "5", "6", "7", "8", "5")
	})
}

func TestCopiesInsideABatchAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		cb := r.Each(r.handler())
		want(t, cb, success, 0, orders("1", "2", "1", "1")...)
		r.wantRan(t, "1", "2")
		if len(r.events) != 4 {
			t.Errorf("events: got %d, want one for each message", len(r.events))
		}
		want(t, r.Each(r.handler("3")), retry, 3, orders("3", "3")...)
		r.wantRan(t, "1", "2", "3")
	})
}

func TestWrapRunsTheAcquiredMessagesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		var calls [][]string
		answer := func(result consumer.ConsumeResult, err error) listener.Callback {
			return r.Wrap(func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				var ids []string
				for _, m := range msgs {
					ids = append(ids, m.GetKeys())
				}
				calls = append(calls, ids)
				return result, err
			})
		}
		want(t, answer(success, nil), success, 0, orders("2")...)
		want(t, answer(retry, nil), retry, 0, orders("1", "2", "3")...)
		want(t, answer(success, errBoom), retry, 0, orders("1", "2", "3")...)
		want(t, answer(success, nil), success, 0, orders("1", "2", "3")...)
		want(t, answer(success, nil), success, 0, orders("1", "2", "3")...)
		want(t, answer(success, nil), success, 0, orders("4", "5")...)
		if got := fmt.Sprint(calls); got != "[[2] [1 3] [1 3] [1 3] [4 5]]" {
			t.Errorf("calls: got %v", got)
		}
	})
}

func TestKeysOfABatchThatShareAnIDAreKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{BatchSize: 8})
		paid, sent := delivered("orders", "1", 0), delivered("orders", "1", 0)
		sent.WithTag("sent")
		var ran atomic.Int32
		cb := r.Each(func(context.Context, *primitive.MessageExt) error { ran.Add(1); return nil })
		want(t, cb, success, 0, paid, sent, delivered("orders", "1", 0), delivered("refunds", "1", 0))
		if got := ran.Load(); got != 3 {
			t.Errorf("ran %d of 3 keys", got)
		}
	})
}
