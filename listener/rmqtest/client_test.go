package rmqtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

func TestMain(m *testing.M) {
	rlog.SetLogger(listener.ClientLogger(slog.New(slog.DiscardHandler)))
	os.Exit(m.Run())
}

// patience bounds what tests wait for, such as the client's second look at its
// queues, 20 s after the first. It is used up only by a test that fails.
const patience = 90 * time.Second

var instances atomic.Int64

// instance is a client's own instance name, so that clients share no connection.
func instance() string { return fmt.Sprintf("c%d", instances.Add(1)) }

type callback = func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// served is a broker of any kind.
type served interface{ NameServer() string }

// consume starts a push consumer of group on topic, and stops it when the test
// ends. It returns its instance name too.
func consume(
	t testing.TB, at served, group, topic string, cb callback, o ...consumer.Option,
) (rocketmq.PushConsumer, string) {
	t.Helper()
	return consumeTags(t, at, group, topic, "*", cb, o...)
}

func consumeTags(
	t testing.TB, at served, group, topic, tags string, cb callback, o ...consumer.Option,
) (rocketmq.PushConsumer, string) {
	t.Helper()
	name := instance()
	c, err := consumer.NewPushConsumer(append([]consumer.Option{
		consumer.WithNameServer(primitive.NamesrvAddr{at.NameServer()}),
		consumer.WithGroupName(group),
		consumer.WithInstance(name),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, o...)...)
	if err == nil {
		err = c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: tags}, cb)
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(c) })
	return c, name
}

// stop shuts c down, but not under the race detector: the client's Shutdown races
// with its own rebalance, and what is left behind only fails to connect.
func stop(c rocketmq.PushConsumer) {
	if !raceDetector {
		_ = c.Shutdown() // the client returns nil, always
	}
}

// skipRacyClient skips, under the race detector, a test in which the client
// races with itself.
func skipRacyClient(t *testing.T, where string) {
	t.Helper()
	if raceDetector {
		t.Skip("the client races with itself in ", where)
	}
}

func produceWith(t testing.TB, at served, o ...producer.Option) rocketmq.Producer {
	t.Helper()
	p, err := producer.NewDefaultProducer(append([]producer.Option{
		producer.WithNameServer(primitive.NamesrvAddr{at.NameServer()}),
		producer.WithGroupName("producers"),
		producer.WithInstanceName(instance()),
	}, o...)...)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() }) // the client returns nil, always
	return p
}

// inbox is a callback that passes messages on to the test.
type inbox chan *primitive.MessageExt

func newInbox() inbox { return make(inbox, 10000) }

// accept takes every message.
func (i inbox) accept(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	for _, m := range msgs {
		i <- m
	}
	return consumer.ConsumeSuccess, nil
}

// reject sends every message back, at a level if that is not 0.
func (i inbox) reject(level int) callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if c, ok := primitive.GetConcurrentlyCtx(ctx); ok {
			c.DelayLevelWhenNextConsume = level
		}
		for _, m := range msgs {
			i <- m
		}
		return consumer.ConsumeRetryLater, nil
	}
}

// take waits for n messages.
func (i inbox) take(t *testing.T, n int) []*primitive.MessageExt {
	t.Helper()
	var got []*primitive.MessageExt
	timeout := time.After(patience)
	for len(got) < n {
		select {
		case m := <-i:
			got = append(got, m)
		case <-timeout:
			t.Fatalf("got %d messages, want %d", len(got), n)
		}
	}
	return got
}

// wantNone fails if more messages have come.
func (i inbox) wantNone(t *testing.T) {
	t.Helper()
	select {
	case m := <-i:
		t.Errorf("got %v, want no more messages", m)
	default:
	}
}

// eventually waits until done, which it asks often.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// message has a body of its own when it is given none, which brokers refuse.
func message(topic, key, body string) *primitive.Message {
	if body == "" {
		body = "body of " + key
	}
	return primitive.NewMessage(topic, []byte(body)).WithKeys([]string{key})
}

func send(t testing.TB, p rocketmq.Producer, msgs ...*primitive.Message) *primitive.SendResult {
	t.Helper()
	result, err := p.SendSync(context.Background(), msgs...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func keysOf(msgs []*primitive.MessageExt) map[string]int {
	keys := map[string]int{}
	for _, m := range msgs {
		keys[m.GetKeys()]++
	}
	return keys
}

// suspend is for orderly consumers: the message is to come again at once.
func (i inbox) suspend(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	if c, ok := primitive.GetOrderlyCtx(ctx); ok {
		c.SuspendCurrentQueueTimeMillis = 10
	}
	for _, m := range msgs {
		i <- m
	}
	return consumer.SuspendCurrentQueueAMoment, nil
}
