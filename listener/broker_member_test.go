package listener_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// lease is that of all members that do not ask for another: a crash blocks a
// key for a short time, and a busy machine renews early enough.
const lease = 3 * time.Second

// testLevels is messageDelayLevel of the real test broker: 1s 2s … 18s.
func testLevels() (all []time.Duration) {
	for n := range 18 {
		all = append(all, time.Duration(n+1)*time.Second)
	}
	return all
}

// member is one push consumer of a group and its listener.
type member struct {
	*listener.DedupConcurrentListener
	name   string
	client rocketmq.PushConsumer
	left   bool
}

// newMember joins the group at p. subscribe is called before the start.
func newMember(
	p place, name string, records store.Store, o listener.Options, subscribe func(*member) error,
	more ...consumer.Option,
) (*member, error) {
	if o.Key == nil {
		o.Key = listener.KeyFromKeys()
	}
	o.Policy.Lease = cmp.Or(o.Policy.Lease, lease)
	o.DelayLevels = p.Levels
	o.Namespace = p.Namespace
	o.Guard.Logger = slog.New(slog.DiscardHandler)
	l, err := listener.NewDedupConcurrentListener(p.Group, records, o)
	if err != nil {
		return nil, err
	}
	m := &member{DedupConcurrentListener: l, name: name}
	m.client, err = rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNamespace(p.Namespace),
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{p.NameServer})),
		consumer.WithGroupName(p.Group),
		consumer.WithInstance(p.instance(name)),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(max(1, o.BatchSize)),
		consumer.WithMaxReconsumeTimes(cmp.Or(o.MaxReconsumeTimes, -1)),
		consumer.WithConsumeTimeout(cmp.Or(o.ConsumeTimeout, listener.DefaultConsumeTimeout)),
	}, more...)...)
	if err != nil {
		return nil, err
	}
	if err := subscribe(m); err != nil {
		return nil, err
	}
	return m, m.client.Start()
}

// instance is the instance name of a member's client.
func (p place) instance(name string) string {
	return fmt.Sprintf("%s-%s-%d", p.Group, name, os.Getpid())
}

// join adds a member that runs h for every message of the scene's topic.
func (s *scene) join(o listener.Options, h listener.Handler) *member {
	s.t.Helper()
	return s.joinWith(o, func(m *member) error { return s.subscribe(m, s.Topic, h) })
}

// joinWith adds a member whose subscriptions are its own affair. It leaves when
// the test ends.
func (s *scene) joinWith(o listener.Options, subscribe func(*member) error, more ...consumer.Option) *member {
	s.t.Helper()
	s.members++
	o.Guard.Observer = &s.ledger
	m, err := newMember(s.place, fmt.Sprintf("member%d", s.members), s.records, o, subscribe, more...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.leave(m) })
	return m
}

// subscribe has m run h for the messages of topic and the ledger see them.
func (s *scene) subscribe(m *member, topic string, h listener.Handler) error {
	return m.Subscribe(watched{m.client, &s.ledger, m.name}, topic, consumer.MessageSelector{},
		s.counted(m.name, h))
}

// leave drains m, once.
func (s *scene) leave(m *member) {
	s.t.Helper()
	if m.left {
		return
	}
	if err := m.drain(30 * time.Second); err != nil {
		s.t.Errorf("%s leaves: %v", m.name, err)
	}
}

// drain stops the client too, but not under the race detector: its Shutdown
// races with its own rebalance.
func (m *member) drain(limit time.Duration) error {
	m.left = true
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if raceDetector {
		return m.Shutdown(ctx, &stopper{}) // what the client leaves behind only fails to connect
	}
	return m.Shutdown(ctx, m.client)
}

// succeed is the handler that just does.
func succeed(context.Context, *primitive.MessageExt) error { return nil }

// failingFirst fails the first runs of every message.
func failingFirst(l *ledger, times int) listener.Handler {
	return func(_ context.Context, m *primitive.MessageExt) error {
		if l.runs(string(m.Body)) <= times {
			return errBoom
		}
		return nil
	}
}

// eventually waits until what is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	const limit = 90 * time.Second
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
