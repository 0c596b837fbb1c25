package listener_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestBrokerAFailedCallbackRunsAgainUntilItIsDone(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		o := listener.Options{Policy: dedup.Policy{Lease: 30 * time.Second}} // longer than it all takes
		s.join(o, func(_ context.Context, m *primitive.MessageExt) error {
			switch body := string(m.Body); {
			case s.runs(body) > 2:
				return nil
			case body == "panic":
				panic("boom")
			default:
				return errBoom
			}
		})
		s.send("error", "panic")
		eventually(t, "both are done", func() bool { return s.count(outcome(dedup.Ran)) == 2 })
		s.wantRuns(t, 3, "error", "panic")
		if third := s.count(func(e dedup.Event) bool { return e.Attempt == 3 && e.Redelivered }); third != 2 {
			t.Errorf("got %d third attempts, want 2", third)
		}
		if deferred := s.find(outcome(dedup.Deferred)); len(deferred) > 0 {
			t.Errorf("got deferrals %v, want the key free as soon as its callback has failed", deferred)
		}
	})
}

func TestBrokerAFailingFifthOfABatchOfEightCostsOneRun(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		keys := ids("order", 8)
		s.sendTogether(keys...)
		s.join(listener.Options{BatchSize: 8}, func(_ context.Context, m *primitive.MessageExt) error {
			if string(m.Body) == keys[4] && s.runs(keys[4]) == 1 {
				return errBoom
			}
			return nil
		})
		eventually(t, "the others were skipped and the fifth ran", func() bool { return s.count(acknowledged) >= 15 })
		if first := s.deliveries(keys[0])[0]; len(first.batch) != 8 {
			t.Errorf("the client delivered %d messages at once, want 8", len(first.batch))
		}
		s.wantRuns(t, 1, slices.Delete(slices.Clone(keys), 4, 5)...)
		s.wantRuns(t, 2, keys[4])
		for _, id := range keys {
			if n := len(s.deliveries(id)); n < 2 {
				t.Errorf("%s: got %d deliveries, want 2: the batch has one verdict", id, n)
			}
		}
	})
}

// The retry topic of a group mixes its topics, and the client gives such a
// batch to the callback of its first message. They fail until there was one.
func TestBrokerTwoTopicsOfAGroupReachTheirOwnHandlers(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		refunds := s.Topic + "-refunds"
		s.createTopic(refunds, 1)
		const n = 20
		for i := range n { // the same keys on both topics
			for _, topic := range []string{s.Topic, refunds} {
				id := fmt.Sprintf("order-%d", i)
				s.deliver(primitive.NewMessage(topic, []byte(topic+" "+id)).WithKeys([]string{id}))
			}
		}
		own := func(topic string) listener.Handler {
			return func(_ context.Context, m *primitive.MessageExt) error {
				if m.Topic != topic {
					t.Errorf("the handler of %s got a message of %s", topic, m.Topic)
				}
				if s.runs(string(m.Body)) <= 2 || !s.mixed(refunds) {
					return errBoom
				}
				return nil
			}
		}
		s.joinWith(listener.Options{BatchSize: 32}, func(m *member) error {
			for _, topic := range []string{s.Topic, refunds} {
				if err := s.subscribe(m, topic, own(topic)); err != nil {
					return err
				}
			}
			return nil
		})
		eventually(t, "all are done", func() bool { return s.count(outcome(dedup.Ran)) == 2*n })
		for i := range n {
			for _, topic := range []string{s.Topic, refunds} {
				body := fmt.Sprintf("%s order-%d", topic, i)
				s.wantRuns(t, max(3, s.runs(body)), body)
			}
			for _, topic := range []string{s.Topic, refunds} {
				recorded := func(e dedup.Event) bool {
					return e.Outcome == dedup.Ran && e.Key.Topic == topic && e.Key.ID == fmt.Sprintf("order-%d", i)
				}
				if got := s.count(recorded); got != 1 {
					t.Errorf("order-%d is recorded %d times under %s, want once", i, got, topic)
				}
			}
		}
	})
}

// mixed reports whether a batch had messages of other beside those of the scene's topic.
func (s *scene) mixed(other string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.sightings {
		if slices.ContainsFunc(all, func(one sighting) bool {
			return slices.Contains(one.batch, s.Topic) && slices.Contains(one.batch, other)
		}) {
			return true
		}
	}
	return false
}

func TestBrokerAWrappedCallbackAnswersForItsBatch(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		keys := ids("order", 4)
		s.sendTogether(keys...)
		s.joinWith(listener.Options{BatchSize: 4}, func(m *member) error {
			callback := func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				var err error
				for _, msg := range msgs {
					err = s.counted(m.name, failingFirst(&s.ledger, 1))(ctx, msg)
				}
				return consumer.ConsumeSuccess, err // the client alone would acknowledge this
			}
			return watched{m.client, &s.ledger, m.name}.Subscribe(s.Topic, consumer.MessageSelector{}, m.Wrap(callback))
		})
		eventually(t, "all are done", func() bool { return s.count(outcome(dedup.Ran)) == 4 })
		s.send(keys...)
		eventually(t, "the copies are skipped", func() bool { return s.count(outcome(dedup.Skipped)) >= 4 })
		s.wantRuns(t, 2, keys...)
	})
}
