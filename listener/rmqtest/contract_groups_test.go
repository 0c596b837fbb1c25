package rmqtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// A consumer that returns gets what it had not finished and what has come since.
// The first one leaves after a retry: the client that is shut down while it still
// looks at its topics tells the broker once more that it is there.
func playRestart(s *stage) {
	p, in := s.produceWith(), newInbox()
	for i := range 4 {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), ""))
	}
	never := make(chan struct{})
	s.t.Cleanup(func() { close(never) })
	c := s.consume(func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		switch m := msgs[0]; {
		case m.GetKeys() >= "A-2":
			<-never
		case m.GetKeys() == "A-0" && m.ReconsumeTimes == 0:
			return in.reject(1)(ctx, m)
		}
		return in.accept(ctx, msgs...)
	})
	in.take(s.t, 3)
	eventually(s.t, "the first two messages are finished", func() bool {
		behind := c.GetOffsetDiffMap()
		retries, retried := behind["%RETRY%"+s.group]
		return behind[s.topic] == 2 && retried && retries == 0
	})
	if err := c.Shutdown(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the offset is stored", func() bool { return s.offset(rmqtest.QueryOffset) == 2 })
	eventually(s.t, "the member has left", func() bool { return s.ask(rmqtest.ConsumerIDs, s.about(), nil).Code != 0 })
	send(s.t, p, message(s.topic, "A-4", ""))
	again := newInbox()
	s.consume(again.accept)
	for _, m := range inOrder(again.take(s.t, 3)) {
		s.say("after the restart: %s at %d, delivery %d", m.GetKeys(), m.QueueOffset, m.ReconsumeTimes)
	}
	again.wantNone(s.t)
}

// A group that is new to a young topic gets everything, whatever it asks for.
func playFirstStart(s *stage) {
	p := s.produceWith()
	for i := range 3 {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), ""))
	}
	for i, from := range []consumer.ConsumeFromWhere{consumer.ConsumeFromFirstOffset, consumer.ConsumeFromLastOffset} {
		group, in := fmt.Sprint(s.group, "-", i), newInbox()
		s.deleteAtTheEnd("%RETRY%" + group)
		consume(s.t, s, group, s.topic, in.accept, consumer.WithConsumeFromWhere(from))
		send(s.t, p, message(s.topic, fmt.Sprint("B-", i), ""))
		for _, m := range inOrder(in.take(s.t, 4+i)) {
			s.say("group %d: %s at %d", i, m.GetKeys(), m.QueueOffset)
		}
	}
}

// holders are the members that got the last message of each queue.
type holders struct {
	mu sync.Mutex
	of map[int]string
}

func (h *holders) member(name string) callback {
	return func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, m := range msgs {
			h.of[m.Queue.QueueId] = name
		}
		return consumer.ConsumeSuccess, nil
	}
}

func (h *holders) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of = map[int]string{}
}

func (h *holders) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.of)
}

// queues returns those of each member in their order.
func (h *holders) queues() map[string][]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	queues := map[string][]int{}
	for _, q := range slices.Sorted(maps.Keys(h.of)) {
		queues[h.of[q]] = append(queues[h.of[q]], q)
	}
	return queues
}

func playRebalance(s *stage) {
	p, h := s.produceWith(), &holders{of: map[int]string{}}
	share := func(names ...string) {
		s.t.Helper()
		var queues map[string][]int
		eventually(s.t, fmt.Sprint(names, " have equal shares"), func() bool {
			h.forget()
			for range 4 {
				send(s.t, p, message(s.topic, "A-0", ""))
			}
			eventually(s.t, "each queue has a message consumed", func() bool { return h.count() == 4 })
			queues = h.queues()
			return !slices.ContainsFunc(names, func(name string) bool { return len(queues[name]) != 4/len(names) })
		})
		// The client gives the first queues to the member whose id is the smaller.
		s.say("%d with the queues %v", len(names), slices.SortedFunc(maps.Values(queues), slices.Compare))
	}
	s.consume(h.member("first"))
	share("first")
	second := s.consume(h.member("second"))
	share("first", "second")
	if err := second.Shutdown(); err != nil {
		s.t.Fatal(err)
	}
	share("first")
}

// One queue: what is suspended comes again before what follows it, and goes to the
// dead letters when it failed too often.
func playOrderly(s *stage) {
	p, in := s.produceWith(), newInbox()
	for i := range 4 {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), "").WithShardingKey("customer 7"))
	}
	s.consume(func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		// A copy, since the client counts in the message itself.
		m := &primitive.MessageExt{ReconsumeTimes: msgs[0].ReconsumeTimes}
		m.WithKeys([]string{msgs[0].GetKeys()})
		if key := m.GetKeys(); key == "A-2" || key == "A-1" && m.ReconsumeTimes == 0 {
			return in.suspend(ctx, m)
		}
		return in.accept(ctx, m)
	}, consumer.WithConsumerOrder(true), consumer.WithMaxReconsumeTimes(2))
	for _, m := range in.take(s.t, 8) {
		s.say("came %s, delivery %d", m.GetKeys(), m.ReconsumeTimes)
	}
	s.say("dead letters:")
	s.readDead("A-2 1")
}
