package listenertest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

var errBoom = errors.New("boom")

// answering is a callback that answers like this, at this level.
func answering(r consumer.ConsumeResult, level int, err error) listener.Callback {
	return func(ctx context.Context, _ ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		c, _ := primitive.GetConcurrentlyCtx(ctx)
		c.DelayLevelWhenNextConsume = level
		return r, err
	}
}

// subscribed is a consumer with cb for the topic orders.
func subscribed(t *testing.T, cb listener.Callback) *listenertest.Consumer {
	t.Helper()
	c := &listenertest.Consumer{Group: "billing"}
	if err := c.Subscribe("orders", consumer.MessageSelector{}, cb); err != nil {
		t.Fatal(err)
	}
	return c
}

// listening is a consumer whose messages a listener with o gives to h.
func listening(t *testing.T, o listener.Options, h listener.Handler) (*listenertest.Consumer,
	*listener.DedupConcurrentListener) {
	t.Helper()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Guard = dedup.Options{Observer: listenertest.Observer(), Logger: slog.New(slog.DiscardHandler)}
	l, err := listener.NewDedupConcurrentListener("billing", records, o)
	if err != nil {
		t.Fatal(err)
	}
	return subscribed(t, l.Each(h)), l
}

func order(id string) *primitive.Message {
	return primitive.NewMessage("orders", []byte(id)).WithKeys([]string{id})
}

func TestAnAnswerTellsTheFateOfTheMessage(t *testing.T) {
	panics := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) { panic(errBoom) }
	leaves := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		runtime.Goexit()
		return consumer.ConsumeSuccess, nil
	}
	const success, retry = consumer.ConsumeSuccess, consumer.ConsumeRetryLater
	for name, c := range map[string]struct {
		cb      listener.Callback
		retries int
		fate    listenertest.Fate
		level   int
		err     error
	}{
		"success":                {answering(success, 0, nil), 0, listenertest.Acknowledged, 0, nil},
		"success with an error":  {answering(success, 0, errBoom), 0, listenertest.Acknowledged, 0, errBoom},
		"retry later":            {answering(retry, 5, nil), 0, listenertest.SentBack, 5, nil},
		"any other result":       {answering(consumer.Rollback, 0, nil), 0, listenertest.SentBack, 0, nil},
		"a negative level":       {answering(retry, -1, nil), 0, listenertest.Dead, -1, nil},
		"one retry before last":  {answering(retry, 0, nil), 1, listenertest.SentBack, 0, nil},
		"the last retry":         {answering(retry, 0, nil), 2, listenertest.Dead, 0, nil},
		"success on the last":    {answering(success, 0, nil), 2, listenertest.Acknowledged, 0, nil},
		"a panic":                {panics, 0, listenertest.Unanswered, 0, errBoom},
		"a goroutine that ended": {leaves, 0, listenertest.Unanswered, 0, dedup.ErrGoexit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := subscribed(t, c.cb)
			sub.MaxReconsumeTimes = 2
			m := sub.Message(order("7"))
			for range c.retries {
				m = sub.Retry(m, 0)
			}
			got := sub.Deliver(m)
			if got.Fate != c.fate || got.DelayLevel != c.level || !errors.Is(got.Err, c.err) {
				t.Errorf("got %v; want %v, level %d, %v", got, c.fate, c.level, c.err)
			}
		})
	}
}

func TestAConsumerMayBeRetriedSixteenTimes(t *testing.T) {
	c := subscribed(t, answering(consumer.ConsumeRetryLater, 0, nil))
	m, deliveries := c.Message(order("7")), 1
	for c.Deliver(m).Fate != listenertest.Dead {
		m = c.Retry(m, 0)
		deliveries++
	}
	if deliveries != 17 {
		t.Errorf("got %d deliveries, want 17", deliveries)
	}
}

func TestTheFirstMessageChoosesTheCallback(t *testing.T) {
	c := subscribed(t, answering(consumer.ConsumeSuccess, 0, nil))
	refund := c.Message(primitive.NewMessage("refunds", []byte("8")))
	if a := c.Deliver(c.Message(order("7")), refund); a.Fate != listenertest.Acknowledged {
		t.Errorf("a batch of two topics: got %v", a)
	}
	if a := c.Deliver(refund); a.Fate != listenertest.SentBack || a.Err == nil {
		t.Errorf("a topic without a callback: got %v", a)
	}
	if a := c.Deliver(); a.Fate != listenertest.Unanswered || a.Err == nil {
		t.Errorf("no message: got %v", a)
	}
}

func TestAMessageMadeByHandIsDelivered(t *testing.T) {
	c := subscribed(t, answering(consumer.ConsumeSuccess, 0, nil))
	m := &primitive.MessageExt{Message: primitive.Message{Topic: "orders", Body: []byte("7")}}
	if a := c.Deliver(m); a.Fate != listenertest.Acknowledged {
		t.Errorf("got %v", a)
	}
}

func TestTheCallbackGetsWhatTheClientGives(t *testing.T) {
	c := subscribed(t, func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		cc, _ := primitive.GetConcurrentlyCtx(ctx)
		mc, _ := primitive.GetConsumerCtx(ctx)
		if cc.MQ.Topic != "orders" || mc.ConsumerGroup != "billing" || len(mc.Msgs) != 2 || mc.MQ.BrokerName == "" ||
			primitive.GetMethod(ctx) != primitive.ConsumerPush || ctx.Done() != nil {
			t.Errorf("context: got %+v, %+v", cc, mc)
		}
		spare := cap(msgs[0].Body) - len(msgs[0].Body)
		_ = append(msgs[0].Body, make([]byte, spare)...) // spoils the next body, as in the client
		msgs[1].WithKeys([]string{"changed"})
		if string(msgs[1].Body) == "8" {
			t.Error("the bodies of a batch do not share an array")
		}
		return consumer.ConsumeRetryLater, nil
	})
	first, second := c.Message(order("7")), c.Message(order("8"))
	for range 2 { // a delivery sees nothing of the one before
		c.Deliver(first, second)
		if string(second.Body) != "8" || second.GetKeys() != "8" {
			t.Errorf("the delivery has changed the message: %v", second)
		}
	}
}

func TestCopiesThatComeAtOnceRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := make(chan string, 10)
		c, _ := listening(t, listener.Options{}, func(_ context.Context, m *primitive.MessageExt) error {
			runs <- m.GetKeys()
			time.Sleep(time.Minute)
			return nil
		})
		m := c.Message(order("7"))
		var fates []listenertest.Fate
		for _, a := range c.DeliverAtOnce(m, m, m) {
			fates = append(fates, a.Fate)
			if a.Fate == listenertest.Acknowledged {
				continue
			}
			if len(a.Events) != 1 || !errors.Is(a.Events[0].Err, dedup.ErrBusy) {
				t.Errorf("events of a copy: got %+v", a.Events)
			}
			time.Sleep(listener.DefaultDelayLevels()[a.DelayLevel-1])
			if late := c.Deliver(c.Retry(m, a.DelayLevel)); late.Events[0].Outcome != dedup.Skipped {
				t.Errorf("a copy after its delay: got %v", late)
			}
		}
		slices.Sort(fates)
		want := []listenertest.Fate{listenertest.Acknowledged, listenertest.SentBack, listenertest.SentBack}
		if !slices.Equal(fates, want) || len(runs) != 1 {
			t.Errorf("got %v after %d runs, want %v after 1", fates, len(runs), want)
		}
	})
}

func TestEventsBelongToTheirDelivery(t *testing.T) {
	c, _ := listening(t, listener.Options{BatchSize: 3}, func(_ context.Context, m *primitive.MessageExt) error {
		if m.GetKeys() == "8" {
			return errBoom
		}
		return nil
	})
	a := c.Deliver(c.Message(order("9")), c.Message(order("8")), c.Message(order("7")))
	var outcomes []string
	for _, e := range a.Events {
		outcomes = append(outcomes, fmt.Sprint(e.Outcome))
	}
	slices.Sort(outcomes)
	if want := []string{"failed", "ran", "ran"}; a.Fate != listenertest.SentBack || !slices.Equal(outcomes, want) {
		t.Errorf("got %v with %v, want sent back with %v", a, outcomes, want)
	}
}

func TestAStoppedConsumerIgnoresAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := listening(t, listener.Options{}, func(context.Context, *primitive.MessageExt) error {
			time.Sleep(time.Second)
			return nil
		})
		m := c.Message(order("7"))
		answer := make(chan listenertest.Answer, 1)
		go func() { answer <- c.Deliver(m) }()
		synctest.Wait()
		if err := c.Shutdown(); err != nil { // not l.Shutdown, which waits
			t.Error(err)
		}
		if a := <-answer; a.Fate != listenertest.Unanswered {
			t.Errorf("a delivery that the shutdown overtook: got %v", a)
		}
		if a := c.Deliver(m); a.Fate != listenertest.Unanswered || a.Err == nil {
			t.Errorf("a delivery after the shutdown: got %v", a)
		}
		if err := l.Shutdown(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
}

func TestSubscribeRefusesWhatCannotWork(t *testing.T) {
	var c listenertest.Consumer
	if c.Subscribe("", consumer.MessageSelector{}, answering(0, 0, nil)) == nil {
		t.Error("a subscription without a topic was accepted")
	}
	if c.Subscribe("orders", consumer.MessageSelector{}, nil) == nil {
		t.Error("a subscription without a callback was accepted")
	}
}
