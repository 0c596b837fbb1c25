package listener_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

var errBoom = errors.New("boom")

// rig is a listener on a fresh store that takes the key from KEYS, and what its
// callbacks and its observer saw.
type rig struct {
	*listener.DedupConcurrentListener
	store *memstore.Store

	mu     sync.Mutex // guards what follows
	ran    []string
	events []dedup.Event
}

func newRig(t *testing.T, o listener.Options) *rig {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{store: mem}
	if o.Key == nil {
		o.Key = listener.KeyFromKeys()
	}
	o.Guard.Logger = slog.New(slog.DiscardHandler)
	o.Guard.Observer = dedup.ObserverFunc(func(_ context.Context, e dedup.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
	r.DedupConcurrentListener, err = listener.NewDedupConcurrentListener("billing", mem, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// handler notes the runs and fails for the ids given.
func (r *rig) handler(failing ...string) listener.Handler {
	return func(_ context.Context, m *primitive.MessageExt) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran = append(r.ran, m.GetKeys())
		for _, id := range failing {
			if m.GetKeys() == id {
				return errBoom
			}
		}
		return nil
	}
}

func (r *rig) wantRan(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[string]int{}
	for _, id := range r.ran {
		got[id]++
	}
	for _, id := range want {
		got[id]--
	}
	for id, n := range got {
		if n != 0 {
			t.Errorf("runs of %q: %+d against %v", id, n, want)
		}
	}
}

func delivered(topic, id string, reconsumed int32) *primitive.MessageExt {
	m := &primitive.MessageExt{ReconsumeTimes: reconsumed, OffsetMsgId: "offset-" + id}
	m.Topic = topic
	m.Body = []byte("body of " + id)
	m.WithKeys([]string{id})
	m.WithProperty(primitive.PropertyUniqueClientMessageIdKeyIndex, "uniq-"+id)
	return m
}

func orders(ids ...string) (msgs []*primitive.MessageExt) {
	for _, id := range ids {
		msgs = append(msgs, delivered("orders", id, 0))
	}
	return msgs
}

// consume calls cb as the client does and returns its answer and delay level.
func consume(t *testing.T, cb listener.Callback, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, int) {
	t.Helper()
	cctx := primitive.NewConsumeConcurrentlyContext()
	result, err := cb(primitive.WithConcurrentlyCtx(context.Background(), cctx), msgs...)
	if err != nil {
		t.Errorf("the client was given the error %v", err)
	}
	return result, cctx.DelayLevelWhenNextConsume
}

func want(t *testing.T, cb listener.Callback, result consumer.ConsumeResult, level int, msgs ...*primitive.MessageExt) {
	t.Helper()
	if got, gotLevel := consume(t, cb, msgs...); got != result || gotLevel != level {
		t.Errorf("got result %v, level %d; want %v, %d", got, gotLevel, result, level)
	}
}

const (
	success = consumer.ConsumeSuccess
	retry   = consumer.ConsumeRetryLater
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

func TestABusyMessageOnItsLastDeliveryIsPublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, Producer: p})
		var cb listener.Callback
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			m := delivered("orders", "1", 2)
			m.WithProperty(primitive.PropertyReconsumeTime, "2")
			want(t, cb, success, 0, m)
			return nil
		})
		want(t, cb, success, 0, orders("1")...)
		if len(p.sent) != 1 {
			t.Fatalf("sent: got %v", p.sent)
		}
		m := p.sent[0]
		for name, want := range map[string]string{
			"KEYS": "1", "UNIQ_KEY": "uniq-1", "RETRY_TOPIC": "orders", "DELAY": "5", "RECONSUME_TIME": "",
			"ORIGIN_MESSAGE_ID": "offset-1",
		} {
			if got := m.GetProperty(name); got != want {
				t.Errorf("property %s: got %q, want %q", name, got, want)
			}
		}
		if m.Topic != "%RETRY%billing" {
			t.Errorf("topic: got %s", m.Topic)
		}
	})
}

func TestABusyMessageOnItsLastDeliveryWaitsForItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3})
		var cb listener.Callback
		last := make(chan consumer.ConsumeResult, 1)
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			go func() {
				result, _ := consume(t, cb, delivered("orders", "1", 2))
				last <- result
			}()
			time.Sleep(40 * time.Second)
			return nil
		})
		want(t, cb, success, 0, orders("1")...)
		if got := <-last; got != success {
			t.Errorf("got %v, want success", got)
		}
	})
}

func TestAKeyThatStaysBusyIsReportedBeforeItsMessageIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, LastWait: 20 * time.Second, BatchSize: 8})
		var cb listener.Callback
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			began := time.Now()
			want(t, cb, retry, 6, delivered("orders", "1", 2), delivered("orders", "2", 2))
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("waited %v, want 20s for both together", took)
			}
			return nil
		})
		claim(t, r.store, "2")
		want(t, cb, success, 0, orders("1")...)
		exhausted := 0
		for _, e := range r.events {
			if errors.Is(e.Err, dedup.ErrExhausted) {
				exhausted++
			}
		}
		if exhausted != 2 {
			t.Errorf("exhausted: got %d, want 2", exhausted)
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

func claim(t *testing.T, s store.Store, id string) {
	t.Helper()
	claimFor(t, s, id, 2*time.Minute)
}

func claimFor(t *testing.T, s store.Store, id string, lease time.Duration) {
	t.Helper()
	v, err := s.Claim(t.Context(), store.ClaimRequest{
		Key:   store.Key{Application: "billing", Topic: "orders", ID: id},
		Token: store.NewToken(), Lease: lease, Horizon: time.Hour,
	})
	if err != nil || v.State != store.Claimed {
		t.Fatal(v, err)
	}
}

type subscriptions map[string]listener.Callback

func (s subscriptions) Subscribe(topic string, _ consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	s[topic] = f
	return nil
}

type producer struct {
	sent []*primitive.Message
	err  error
}

func (p *producer) SendSync(_ context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.sent = append(p.sent, msgs...)
	return &primitive.SendResult{}, nil
}

type stopper struct {
	stops int
	err   error
}

func (s *stopper) Shutdown() error { s.stops++; return s.err }
