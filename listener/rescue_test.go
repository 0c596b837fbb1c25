package listener_test

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// givenUp is the half of one message of a step, as a broker has given it up.
func (b *outgoingBench) givenUp(t *testing.T) *primitive.MessageExt {
	t.Helper()
	m := b.half(t, "a")
	m.Topic, m.Body = listener.GivenUpTopic, []byte("body")
	for name, value := range map[string]string{
		"TRAN_MSG": "true", "PGROUP": "out", "REAL_TOPIC": "%RETRY%rescue", "REAL_QID": "1", "UNIQ_KEY": "U",
		"__transactionId__": "U", "TRANSACTION_CHECK_TIMES": "15", "CLUSTER": "c", "MIN_OFFSET": "0", "MAX_OFFSET": "9",
		"KEYS": "a-1", "TAGS": "eu", "colour": "red",
	} {
		m.WithProperty(name, value)
	}
	return m
}

func (b *outgoingBench) finds(r store.Record, err error) {
	b.records.get = func(context.Context, store.Key) (store.Record, error) { return r, err }
}

func TestACommittedMessageThatWasGivenUpIsPublishedAsTheStepReturnedIt(t *testing.T) {
	t.Parallel()
	b, p := newOutgoingBench(t), &producer{}
	m := b.givenUp(t)
	b.finds(store.Record{Status: store.StatusConsumed, Token: b.records.token}, nil)
	if got, _ := consume(t, b.Rescue(p), m); got != success || len(p.sent) != 1 {
		t.Fatalf("got %v and %d messages, want success and one", got, len(p.sent))
	}
	sent, want := p.sent[0], map[string]string{"KEYS": "a-1", "TAGS": "eu", "colour": "red"}
	if sent.Topic != "next" || string(sent.Body) != "body" || !maps.Equal(sent.GetProperties(), want) {
		t.Errorf("got %s to %s with %v, want body to next with %v", sent.Body, sent.Topic, sent.GetProperties(), want)
	}
	if m.GetProperty("PGROUP") != "out" {
		t.Error("the message itself was changed")
	}
}

func TestAMessageThatWasGivenUpIsLeftAloneOrComesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(*outgoingBench, *primitive.MessageExt)
		send  error
		want  consumer.ConsumeResult
	}{
		"rolled back": {func(b *outgoingBench, _ *primitive.MessageExt) {
			b.finds(store.Record{Status: store.StatusConsumed, Token: store.NewToken()}, nil)
		}, nil, success},
		"of another application": {func(_ *outgoingBench, m *primitive.MessageExt) {
			m.WithProperty("DEDUP_TX", "b3RoZXI.b3JkZXJz..YQ.000102030405060708090a0b0c0d0e0f")
		}, nil, success},
		"of no Outgoing": {func(_ *outgoingBench, m *primitive.MessageExt) {
			*m = primitive.MessageExt{Message: primitive.Message{Topic: listener.GivenUpTopic}}
		}, nil, success},
		"sent to be known": {func(_ *outgoingBench, m *primitive.MessageExt) {
			m.WithProperty("DEDUP_TX", "greeting")
		}, nil, success},
		"no record yet": {func(b *outgoingBench, _ *primitive.MessageExt) {
			b.finds(store.Record{}, store.ErrNoRecord)
		}, nil, retry},
		"the store fails": {func(b *outgoingBench, _ *primitive.MessageExt) { b.finds(store.Record{}, errBoom) }, nil, retry},
		"the store panics": {func(b *outgoingBench, _ *primitive.MessageExt) {
			b.records.get = func(context.Context, store.Key) (store.Record, error) { panic("out") }
		}, nil, retry},
		"damaged": {func(_ *outgoingBench, m *primitive.MessageExt) { m.WithProperty("DEDUP_TX", "x") }, nil, retry},
		"of another topic, which shares a batch of retries": {func(_ *outgoingBench, m *primitive.MessageExt) {
			m.Topic = "orders"
		}, nil, retry},
		"the broker does not take it": {func(*outgoingBench, *primitive.MessageExt) {}, errBoom, retry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := newOutgoingBench(t), &producer{err: c.send}
			m := b.givenUp(t)
			b.finds(store.Record{Status: store.StatusConsumed, Token: b.records.token}, nil)
			c.alter(b, m)
			if got, _ := consume(t, b.Rescue(p), m); got != c.want || len(p.sent) > 0 {
				t.Errorf("got %v and %d messages, want %v and none", got, len(p.sent), c.want)
			}
			if warned := b.log.Len() > 0; warned != (c.want == retry) {
				t.Errorf("got the log %q, want one exactly if the message comes again", b.log.String())
			}
		})
	}
}

func TestRescueWithoutAProducerAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	if got, _ := consume(t, b.Rescue(nil), b.givenUp(t)); got != retry || !strings.Contains(b.log.String(), "nil producer") {
		t.Errorf("got %v and the log %q", got, b.log.String())
	}
}

// Nobody tells the broker how the transaction ended, until it asks no more. Then it
// does not take what is published at first, so that the message comes again.
func TestBrokerWhatItHasGivenUpIsRescued(t *testing.T) {
	t.Parallel()
	c := newChain(t, realBroker)
	c.deaf = true
	c.books(c.book, true)
	c.ships()
	c.rescues()
	c.send("a", "b")
	c.shipped("a", "b")
}

// rescues adds a consumer of what the broker has given up.
func (c *chain) rescues() {
	c.t.Helper()
	c.createGroup(c.Group + "-rescue")
	stop, err := c.place.joinRescue(c.records, &stumbling{Producer: c.scene.producer}, "rescues")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := stop(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
}

// stumbling is a producer that fails at first.
type stumbling struct {
	listener.Producer
	tries atomic.Int64
}

func (p *stumbling) SendSync(ctx context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	if p.tries.Add(1) <= 2 {
		return nil, errBoom
	}
	return p.Producer.SendSync(ctx, msgs...)
}

// joinRescue starts a consumer of what the broker has given up of the first step.
func (p place) joinRescue(
	records store.Store, to listener.Producer, name string,
) (stop func(context.Context) error, err error) {
	l, err := listener.NewDedupConcurrentListener(p.Group, records, listener.Options{
		Key: listener.KeyFromKeys(), Guard: dedup.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return nil, err
	}
	out, err := l.Outgoing()
	if err != nil {
		return nil, err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{p.NameServer})),
		consumer.WithGroupName(p.Group+"-rescue"), consumer.WithInstance(p.instance(name+"-rescue")),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err == nil {
		err = c.Subscribe(listener.GivenUpTopic, consumer.MessageSelector{}, out.Rescue(to))
	}
	if err == nil {
		err = c.Start()
	}
	return func(ctx context.Context) error {
		if raceDetector { // its Shutdown races with its own rebalance
			return nil
		}
		return l.Shutdown(ctx, c)
	}, err
}
