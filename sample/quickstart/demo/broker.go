package demo

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// broker is where the messages go.
type broker struct {
	nameServer string
	local      *rmqtest.Broker // nil: it is a real one
	delays     []time.Duration // its delay levels; nil: RocketMQ's own
	patience   time.Duration   // how long nothing may happen
}

// quickDelays are the delay levels of the broker in this process. One of them
// covers a lease: a copy of what a dead consumer was running comes back once.
func quickDelays() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{50 * ms, 100 * ms, 200 * ms, 500 * ms, time.Second, Lease + 200*ms, 3 * time.Second}
}

func openBroker(s Settings) (*broker, error) {
	if s.NameServer != "" {
		return &broker{nameServer: s.NameServer, patience: 2 * time.Minute}, nil
	}
	local, err := rmqtest.New(rmqtest.Options{DelayLevels: quickDelays(), Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	return &broker{local.NameServer(), local, quickDelays(), 20 * time.Second}, nil
}

func (b *broker) close() {
	if b.local != nil {
		b.local.Close()
	}
}

// createTopic makes a topic, and the retry topic of the group of the same name:
// without it the first retry of a new group takes 40 seconds on a real broker.
func (b *broker) createTopic(ctx context.Context, name string, queues int) error {
	servers := []string{b.nameServer}
	if err := listener.CreateTopic(ctx, name, queues, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	return listener.EnsureRetryTopic(ctx, name, servers, listener.TopicOptions{})
}

// cut breaks the connections of a client. Those to a real broker end with the
// client itself.
func (b *broker) cut(instance string) {
	if b.local != nil {
		b.local.CutConnections(instance)
	}
}
