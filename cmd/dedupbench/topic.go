package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// queues is the number of a topic's queues on each broker.
const queues = 8

// topic is a topic whose messages are all there before anybody consumes them.
type topic struct {
	Name     string
	Messages int
	Distinct int // keys
}

// broker is the way to one RocketMQ: it makes topics and removes them.
type broker struct {
	nameServer string
	admin      deleter
}

// deleter is what the client's admin, whose type it keeps to itself, is used for.
type deleter interface {
	DeleteTopic(context.Context, ...admin.OptionDelete) error
	FetchPublishMessageQueues(context.Context, string) ([]*primitive.MessageQueue, error)
	Close() error
}

func newBroker(nameServer string) (*broker, error) {
	a, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{nameServer})))
	if err != nil {
		return nil, fmt.Errorf("-namesrv: %w", err)
	}
	return &broker{nameServer, a}, nil
}

// fill makes a topic and all its messages.
func (b *broker) fill(ctx context.Context, name string, messages, size, copies int) (topic, error) {
	t := topic{Name: name, Messages: messages}
	err := listener.CreateTopic(ctx, name, queues, []string{b.nameServer}, listener.TopicOptions{})
	if err != nil {
		return t, err
	}
	where, err := b.admin.FetchPublishMessageQueues(ctx, name)
	if err != nil {
		return t, fmt.Errorf("queues of %s: %w", name, err)
	}
	slices.SortFunc(where, func(a, b *primitive.MessageQueue) int {
		return cmp.Or(cmp.Compare(a.BrokerName, b.BrokerName), cmp.Compare(a.QueueId, b.QueueId))
	})
	p, err := startProducer(b.nameServer, name)
	if err != nil {
		return t, err
	}
	sent := 0
	for i, queue := range where {
		keys, distinct := sequence(share(messages, i, len(where)), copies)
		var msgs []*primitive.Message
		for n, key := range keys {
			m := primitive.NewMessage(name, body(size, sent+n, t.Distinct+key))
			msgs = append(msgs, m.WithKeys([]string{keyName(t.Distinct + key)}))
		}
		if err = send(ctx, p, queue, msgs); err != nil {
			break
		}
		sent, t.Distinct = sent+len(keys), t.Distinct+distinct
	}
	return t, errors.Join(err, p.Shutdown())
}

func startProducer(nameServer, name string) (rocketmq.Producer, error) {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		producer.WithGroupName(name+"-producer"), producer.WithInstanceName(name+"-producer"),
		producer.WithQueueSelector(producer.NewManualQueueSelector()), producer.WithRetry(0),
	)
	if err != nil {
		return nil, fmt.Errorf("producer: %w", err)
	}
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("producer: %w", err)
	}
	return p, nil
}

// send puts the messages of one queue there in their order. Nothing is sent
// twice: a doubled message would be a copy that nobody expects.
func send(ctx context.Context, p rocketmq.Producer, queue *primitive.MessageQueue, msgs []*primitive.Message) error {
	size := 1
	if len(msgs) > 0 {
		size = max(1, min(100, 1<<20/len(msgs[0].Body)))
	}
	for part := range slices.Chunk(msgs, size) {
		part[0].Queue = queue
		if _, err := p.SendSync(ctx, part...); err != nil {
			return fmt.Errorf("send to %v: %w", queue, err)
		}
	}
	return nil
}

// retryTopic is where the broker keeps what a group sends back.
func retryTopic(group string) string { return "%RETRY%" + group }

// remove deletes topics. It is for tidying up: what it cannot delete it leaves.
func (b *broker) remove(names ...string) {
	for _, name := range names {
		_ = b.admin.DeleteTopic(context.Background(), admin.WithTopicDelete(name))
	}
}

func (b *broker) close() { _ = b.admin.Close() }
