package listenertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// DefaultGroup is the consumer group of a [Consumer] that names none. A listener may
// be of any group then: the context does not tell it.
const DefaultGroup = "listenertest"

// Consumer is a push consumer of one group and the broker behind it, in the
// memory of a test. The zero value works. Its methods are safe for concurrent
// use; set the fields before the first call.
type Consumer struct {
	Group             string // consumer group; "": DefaultGroup
	MaxReconsumeTimes int32  // retries before the dead-letter queue; 0 and -1: 16, as in the client

	own    commitLog
	shared *commitLog // instead of own, for the processes of one Run

	mu        sync.Mutex // guards what follows
	callbacks map[string]listener.Callback
	stopped   bool
}

var (
	_ listener.Subscriber = (*Consumer)(nil)
	_ listener.Stopper    = (*Consumer)(nil)
)

// Subscribe has the messages of topic delivered to f. Every message matches the
// selector.
func (c *Consumer) Subscribe(topic string, _ consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	if topic == "" || f == nil {
		return errors.New("listenertest: subscribe: want a topic and a callback")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callbacks == nil {
		c.callbacks = make(map[string]listener.Callback)
	}
	c.callbacks[topic] = f
	return nil
}

// Shutdown stops the consumer at once, as the client does: it waits for nobody,
// calls no callback any more and ignores the answers of those that run.
func (c *Consumer) Shutdown() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	return nil
}

// Deliver gives msgs, which [Consumer.Message] or [Consumer.Retry] has made, to
// their callback as one batch, in this order, and returns when it has answered. The
// callback gets copies: what it does to a message is not seen in msgs, nor by the
// next delivery. The bodies of a batch lie behind each other in one array, as in
// the client. As there, the topic of the first message chooses the callback.
//
// The callback runs in a goroutine of its own: its panic or runtime.Goexit leaves
// the delivery Unanswered, as it does in the client.
func (c *Consumer) Deliver(msgs ...*primitive.MessageExt) Answer {
	return c.deliver(context.Background(), msgs)
}

// DeliverAtOnce delivers each of msgs in a goroutine of its own, all at once, and
// returns their answers in the order of msgs when all have answered.
func (c *Consumer) DeliverAtOnce(msgs ...*primitive.MessageExt) []Answer {
	answers := make([]Answer, len(msgs))
	var wg sync.WaitGroup
	for i, m := range msgs {
		wg.Go(func() { answers[i] = c.Deliver(m) })
	}
	wg.Wait()
	return answers
}

func (c *Consumer) deliver(ctx context.Context, msgs []*primitive.MessageExt) Answer {
	if len(msgs) == 0 {
		return Answer{Err: errors.New("listenertest: deliver: there is no message")}
	}
	copies := c.copies(msgs)
	topic := copies[0].Topic
	c.mu.Lock()
	cb, stopped := c.callbacks[topic], c.stopped
	c.mu.Unlock()
	if stopped {
		return Answer{Err: errors.New("listenertest: deliver: the consumer has stopped")}
	}
	if cb == nil {
		err := fmt.Errorf("listenertest: deliver: nobody has subscribed to topic %q", topic)
		return Answer{Fate: SentBack, Result: consumer.ConsumeRetryLater, Err: err}
	}
	var n notes
	answering := primitive.NewConsumeConcurrentlyContext()
	answering.MQ = *copies[0].Queue
	ctx = context.WithValue(c.clientContext(ctx, copies), notesKey{}, &n)
	a, answered := call(primitive.WithConcurrentlyCtx(ctx, answering), cb, copies)
	a.DelayLevel, a.Events = answering.DelayLevelWhenNextConsume, n.all()
	if answered {
		a.Fate = c.fate(a, copies)
	}
	return a
}

// clientContext has the values that the client gives a callback.
func (c *Consumer) clientContext(ctx context.Context, msgs []*primitive.MessageExt) context.Context {
	ctx = primitive.WithConsumerCtx(ctx, &primitive.ConsumeMessageContext{
		ConsumerGroup: c.Group, Msgs: msgs, MQ: msgs[0].Queue, Properties: make(map[string]string),
	})
	return primitive.WithMethod(ctx, primitive.ConsumerPush)
}

// call calls cb in a goroutine of its own. answered is false if cb did not return.
func call(ctx context.Context, cb listener.Callback, msgs []*primitive.MessageExt) (a Answer, answered bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Err = dedup.ErrGoexit // stays when cb neither returns nor panics
		defer func() {
			if v := recover(); v != nil {
				a.Err = &dedup.PanicError{Value: v, Stack: debug.Stack()}
			}
		}()
		a.Result, a.Err = cb(ctx, msgs...)
		answered = true
	}()
	<-done
	return a, answered
}

// fate is what client and broker make of an answer.
func (c *Consumer) fate(a Answer, msgs []*primitive.MessageExt) Fate {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	limit := c.MaxReconsumeTimes
	if limit == 0 || limit == -1 {
		limit = listener.DefaultMaxReconsumeTimes
	}
	exhausted := func(m *primitive.MessageExt) bool { return m.ReconsumeTimes >= limit }
	switch {
	case stopped:
		return Unanswered
	case a.Result == consumer.ConsumeSuccess:
		return Acknowledged
	case a.DelayLevel < 0 || slices.ContainsFunc(msgs, exhausted):
		return Dead
	}
	return SentBack
}

func (c *Consumer) group() string { return cmp.Or(c.Group, DefaultGroup) }

func (c *Consumer) log() *commitLog { return cmp.Or(c.shared, &c.own) }
