package listener_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func permanent(context.Context, *primitive.MessageExt) error { return dedup.Permanent(errBoom) }

func TestCopiesGoToTheTopicsOfTheNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{Namespace: "NS", MaxReconsumeTimes: 3, BatchSize: 8, Producer: p})
		claim(t, r.store, "busy")
		want(t, r.Each(permanent), success, 0, delivered("NS%orders", "busy", 2), delivered("NS%orders", "dead", 0))
		if len(p.sent) != 2 || p.sent[0].Topic != "%RETRY%NS%billing" || p.sent[1].Topic != "%DLQ%NS%billing" {
			t.Fatalf("sent: got %v, want one to each topic that the consumer of this namespace has", p.sent)
		}
		if got := p.sent[0].GetProperty(primitive.PropertyRetryTopic); got != "NS%orders" {
			t.Errorf("retry topic: got %q, want the topic with its namespace", got)
		}
	})
}

func TestACopyRemembersTheTopicThatTheClientDidNotRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, Producer: p})
		claim(t, r.store, "1")
		m := delivered("%RETRY%billing", "1", 2)
		m.Flag = 42
		m.WithProperty(primitive.PropertyRetryTopic, "orders")
		want(t, r.Each(r.handler()), success, 0, m)
		if got := p.sent[0].GetProperty(primitive.PropertyRetryTopic); got != "orders" || p.sent[0].Flag != 42 {
			t.Errorf("got %q, %d; want orders, or the copy would have another key, and its flag", got, p.sent[0].Flag)
		}
	})
}

func TestACopyInTheBatchGoesWithTheOneThatWasPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, BatchSize: 8, Producer: p})
		claim(t, r.store, "1")
		want(t, r.Each(r.handler()), success, 0, delivered("orders", "1", 2), delivered("orders", "1", 2))
		if len(p.sent) != 1 {
			t.Errorf("sent: got %d copies, want one for both", len(p.sent))
		}
	})
}

func TestAMessageThatCannotBePublishedWaits(t *testing.T) {
	for name, p := range map[string]*producer{"no UNIQ_KEY": {}, "the producer fails": {err: errBoom}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{MaxReconsumeTimes: 3, LastWait: time.Hour, Producer: p})
				claimFor(t, r.store, "1", 123*time.Second)
				m := delivered("orders", "1", 2)
				if p.err == nil {
					m.RemoveProperty(primitive.PropertyUniqueClientMessageIdKeyIndex)
				}
				began := time.Now()
				want(t, r.Each(r.handler()), success, 0, m)
				if took := time.Since(began); took < 123*time.Second || took > 124*time.Second || len(p.sent) != 0 {
					t.Errorf("ran after %v with %d copies sent, want at once after 123s", took, len(p.sent))
				}
			})
		})
	}
}

func TestAWaitingMessageRunsAlthoughItsSiblingStaysBusy(t *testing.T) {
	for name, wrap := range map[string]bool{"each": false, "wrapped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, listener.Options{MaxReconsumeTimes: 3, LastWait: time.Minute, BatchSize: 8})
				cb := r.Each(r.handler())
				if wrap {
					cb = r.Wrap(r.callback())
				}
				claim(t, r.store, "stays") // longer than LastWait
				claimFor(t, r.store, "ends", 10*time.Second)
				want(t, cb, retry, 6, delivered("orders", "stays", 2), delivered("orders", "ends", 2))
				r.wantRan(t, "ends")
				want(t, cb, success, 0, delivered("orders", "ends", 2))
			})
		})
	}
}

func TestAVerifierIsNotPesteredByAWaitingMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, Policy: dedup.Policy{
			Verifier: func(context.Context, store.Key) (dedup.Finding, error) { asked++; return dedup.Unknown, nil },
		}})
		cb := r.Each(r.handler("1"))
		want(t, cb, retry, 0, delivered("orders", "1", 0))
		want(t, cb, retry, 5, delivered("orders", "1", 2))
		if asked < 10 || asked > 30 {
			t.Errorf("asked %d times in 100 s, want about every five seconds", asked)
		}
	})
}

func TestOnlyTheLastDeliveryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3})
		claim(t, r.store, "1")
		began := time.Now()
		want(t, r.Each(r.handler()), retry, 7, delivered("orders", "1", 1))
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v, want no wait: there is a delivery left", took)
		}
	})
}

func TestNoWaitMendsAnUnusableMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		bad := func(*primitive.MessageExt) (string, error) { return "", errBoom }
		r := newRig(t, listener.Options{MaxReconsumeTimes: 1, Key: bad, Producer: p})
		began := time.Now()
		want(t, r.Each(r.handler()), retry, 3, orders("1")...)
		if took := time.Since(began); took != 0 || len(p.sent) != 0 {
			t.Errorf("waited %v and sent %d copies, want neither", took, len(p.sent))
		}
	})
}

func TestADeadMessageIsBuriedOnceItsSiblingsAreFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{BatchSize: 8, Producer: p})
		mixed := func(err error) listener.Callback {
			return r.Each(func(_ context.Context, m *primitive.MessageExt) error {
				if m.GetKeys() == "dead" {
					return dedup.Permanent(errBoom)
				}
				return err
			})
		}
		want(t, mixed(errBoom), retry, 0, orders("1", "dead")...)
		want(t, mixed(errBoom), retry, 3, orders("1", "dead")...)
		if len(p.sent) != 0 {
			t.Errorf("sent: got %d copies while a sibling brings the message back, want none", len(p.sent))
		}
		want(t, mixed(nil), success, 0, orders("1", "dead", "dead")...)
		if len(p.sent) != 2 {
			t.Errorf("sent: got %d copies of two dead messages, want 2", len(p.sent))
		}
	})
}

func TestABareMessageIsBuriedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{BatchSize: 8, Producer: p})
		bare := func(id string) *primitive.MessageExt {
			return &primitive.MessageExt{Message: primitive.Message{Topic: "orders"}, OffsetMsgId: id}
		}
		want(t, r.Each(permanent), success, 0, bare("a"), bare("b"))
		want(t, r.Each(permanent), retry, -1, bare("c"))
		if got := fmt.Sprint(len(p.sent)); got != "2" || p.sent[0].GetProperty(primitive.PropertyRetryTopic) != "orders" {
			t.Errorf("sent: got %v", p.sent)
		}
	})
}

// callback is a handler that succeeds as a callback for a whole batch.
func (r *rig) callback() listener.Callback {
	h := r.handler()
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		var errs []error
		for _, m := range msgs {
			errs = append(errs, h(ctx, m))
		}
		return consumer.ConsumeSuccess, errors.Join(errs...)
	}
}
