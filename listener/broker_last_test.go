package listener_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// occupy holds a key as a slow callback elsewhere would, until release, whose
// argument is what that callback returns. It may be called from any goroutine.
func (s *scene) occupy(key store.Key) (release func(error)) {
	s.t.Helper()
	g, err := dedup.New(s.records, dedup.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Error(err)
		return func(error) {}
	}
	taken, result, over := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		policy := dedup.Policy{Lease: lease, MaxConsume: time.Hour}
		for outcome := dedup.Deferred; outcome == dedup.Deferred; {
			outcome, _ = g.Do(context.Background(), key, policy, func(context.Context) error {
				close(taken)
				return <-result
			})
		}
	}()
	select {
	case <-taken:
	case <-over:
		s.t.Errorf("the key %v cannot be taken: it is done", key)
	}
	s.t.Cleanup(func() { close(result); <-over })
	return func(err error) { result <- err; <-over }
}

// interlude is a subscriber that does something between the return of a callback
// and what the client makes of it.
type interlude struct {
	listener.Subscriber
	do func()
}

// Subscribe puts the interlude behind f.
func (i interlude) Subscribe(topic string, selector consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	return i.Subscriber.Subscribe(topic, selector,
		func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			defer i.do()
			return f(ctx, msgs...)
		})
}

// A message that fails while it may be delivered three times in all is buried
// with its third failure, and not before.
func TestBrokerTheBrokerBuriesWithTheMaximum(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		s.join(listener.Options{MaxReconsumeTimes: 2}, failingFirst(&s.ledger, 100))
		s.send("order")
		eventually(t, "it is buried", func() bool { return s.dead() > 0 })
		if runs := s.runs("order"); runs < 3 {
			t.Errorf("got %d runs, want 3", runs)
		}
		seen := s.deliveries("order")
		if last := seen[len(seen)-1].reconsumed; last != 2 {
			t.Errorf("got ReconsumeTimes %d with the last delivery, want 2", last)
		}
	})
}

func TestBrokerABusyCopyOnItsLastDeliveriesIsNotBuried(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		for _, c := range []struct {
			name, namespace string
			failures        int // before the key is taken by somebody else
			producer        bool
			result          error // of that somebody
		}{
			{"last but one, published again", "", 1, true, errBoom},
			{"last but one, published again in a namespace", "ns", 1, true, errBoom},
			{"last, published again and skipped", "", 2, true, nil},
			{"last but one, waits", "", 1, false, errBoom},
			{"last, waits", "", 2, false, errBoom},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := newSceneIn(t, on, c.namespace, 1)
				o := listener.Options{MaxReconsumeTimes: 2, Key: listener.DefaultKey()} // copies must keep it
				if c.producer {
					o.Producer = s.producer
				}
				var once sync.Once
				taken := make(chan func(error), 1)
				s.joinWith(o, func(m *member) error {
					before := interlude{m.client, func() { // before the copy is on its way
						if failed := s.find(outcome(dedup.Failed)); len(failed) == c.failures {
							once.Do(func() { taken <- s.occupy(failed[0].Key) })
						}
					}}
					return m.Subscribe(watched{before, &s.ledger, m.name}, s.Topic, consumer.MessageSelector{},
						s.counted(m.name, failingFirst(&s.ledger, c.failures)))
				})
				s.send("order")
				eventually(t, "the copy is busy", func() bool { return s.count(because(dedup.ErrBusy)) > 0 })
				if key := s.find(outcome(dedup.Failed))[0].Key; key.Topic != s.Topic {
					t.Errorf("key: got topic %s, want %s", key.Topic, s.Topic)
				}
				if met := s.deliveries("order")[c.failures].reconsumed; met != int32(c.failures) {
					t.Fatalf("it met the busy key with ReconsumeTimes %d, want %d", met, c.failures)
				}
				if c.producer {
					eventually(t, "a new copy is busy, too", func() bool { return s.count(because(dedup.ErrBusy)) > 1 })
				}
				release := <-taken
				release(c.result)
				eventually(t, "it is done", func() bool { return s.count(acknowledged) >= 1 })
				if c.result != nil {
					s.wantRuns(t, c.failures+1, "order")
				}
				if runs := s.runs("order"); c.result == nil && runs != c.failures {
					t.Errorf("got %d runs, want %d", runs, c.failures)
				}
				if n := len(s.deliveries("order")); !c.producer && n != c.failures+1 {
					t.Errorf("got %d deliveries, want %d: it was to wait where it was", n, c.failures+1)
				}
				if n := s.dead(); n > 0 {
					t.Errorf("%d messages are in the dead-letter queue, want none", n)
				}
			})
		}
	})
}

func TestBrokerAPermanentFailureIsBuriedAtOnce(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		s.join(listener.Options{}, func(context.Context, *primitive.MessageExt) error { return dedup.Permanent(errBoom) })
		s.send("order")
		eventually(t, "it is buried", func() bool { return s.dead() > 0 })
		s.send("order")
		eventually(t, "so is its copy", func() bool { return len(s.deliveries("order")) > 1 && s.dead() > 1 })
		if runs, seen := s.runs("order"), len(s.deliveries("order")); runs != 1 || seen != 2 {
			t.Errorf("got %d runs and %d deliveries of two copies, want 1 and 2", runs, seen)
		}
	})
}

func TestBrokerAPermanentFailureInABatchIsBuriedAlone(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		keys := ids("order", 4)
		s.sendTogether(keys...)
		s.join(listener.Options{BatchSize: 4, Producer: s.producer}, func(_ context.Context, m *primitive.MessageExt) error {
			if string(m.Body) == keys[1] {
				return dedup.Permanent(errBoom)
			}
			return nil
		})
		eventually(t, "one is buried, the others are done", func() bool {
			return s.dead() > 0 && s.count(acknowledged) == 3
		})
		readers := &scene{t: t, stage: on, place: s.place, broker: s.broker, records: s.records}
		readers.Topic, readers.Group = "%DLQ%"+s.Group, s.Group+"-readers"
		readers.createTopic(readers.Topic, 1) // it is there: this waits until it is routed
		readers.createGroup(readers.Group)
		readers.join(listener.Options{}, succeed)
		eventually(t, "the dead letters are read", func() bool { return readers.count(acknowledged) >= s.dead() })
		readers.wantRuns(t, 1, keys[1])
		if ran := readers.count(outcome(dedup.Ran)); ran != 1 {
			t.Errorf("%d messages are in the dead-letter queue, want one", ran)
		}
		for _, id := range keys {
			if n := len(s.deliveries(id)); n != 1 {
				t.Errorf("%s: got %d deliveries, want 1", id, n)
			}
		}
	})
}
