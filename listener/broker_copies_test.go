package listener_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// ids are n names with the same beginning.
func ids(name string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%d", name, i))
	}
	return all
}

func TestBrokerAKeySentAgainRunsOnce(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 4)
		s.join(listener.Options{}, succeed)
		s.join(listener.Options{}, succeed)
		keys := ids("order", 20)
		for range 3 {
			s.send(keys...)
		}
		eventually(t, "every copy is acknowledged", func() bool { return s.count(acknowledged) >= 60 })
		s.wantRuns(t, 1, keys...)
		if ran := s.count(outcome(dedup.Ran)); ran != 20 {
			t.Errorf("events: got %d messages that ran, want 20", ran)
		}
	})
}

func TestBrokerAnInFlightCopyWaitsInTheRetryTopicAndIsSkipped(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		done := make(chan struct{})
		s.join(listener.Options{Policy: dedup.Policy{Lease: on.longLease()}},
			func(ctx context.Context, _ *primitive.MessageExt) error {
				select {
				case <-done:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		s.send("order")
		eventually(t, "the first copy runs", func() bool { return s.runs("order") == 1 })
		s.send("order")
		eventually(t, "the second copy is deferred", func() bool { return s.count(because(dedup.ErrBusy)) == 1 })
		close(done)
		eventually(t, "the second copy is skipped", func() bool { return s.count(outcome(dedup.Skipped)) == 1 })

		s.wantRuns(t, 1, "order")
		seen := s.deliveries("order")
		if seen[1].reconsumed != 0 || seen[2].reconsumed != 1 || seen[2].from != "%RETRY%"+s.Group {
			t.Errorf("deliveries: got %+v, want the third from the retry topic", seen)
		}
		// Two thirds of a lease are left at least, more than the 3 s that the broker
		// would have chosen.
		left := s.find(outcome(dedup.Deferred))[0].Left
		if away := seen[2].at.Sub(seen[1].at); away < left {
			t.Errorf("the copy came back after %v, want not before the %v that were left of the lease", away, left)
		}
	})
}

func TestBrokerCopiesInOneBatchShareARun(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		keys := ids("order", 4)
		s.sendTogether(slices.Concat(keys, keys, keys)...)
		s.join(listener.Options{BatchSize: 16}, succeed)
		eventually(t, "every copy is acknowledged", func() bool { return s.count(acknowledged) == 12 })
		s.wantRuns(t, 1, keys...)
		for _, id := range keys {
			if n := len(s.deliveries(id)); n != 3 {
				t.Errorf("%s: got %d deliveries of three copies, want 3: nothing had to come back", id, n)
			}
		}
	})
}

func TestBrokerEveryApplicationRunsAKeyOnce(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		billing := newScene(t, on, 2)
		stock := &scene{t: t, stage: on, place: billing.place, broker: billing.broker}
		stock.Group = billing.Group + "-stock"
		stock.createGroup(stock.Group)
		stock.records = billing.records
		billing.join(listener.Options{}, succeed)
		stock.join(listener.Options{}, succeed)
		keys := ids("order", 10)
		billing.send(keys...)
		billing.send(keys...)
		for _, s := range []*scene{billing, stock} {
			eventually(t, "both copies are acknowledged", func() bool { return s.count(acknowledged) >= 20 })
			s.wantRuns(t, 1, keys...)
		}
	})
}

func TestBrokerAGroupWithTheListenerOfAnotherRunsNothingAndLosesNothing(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		audit := s.Group + "-audit"
		s.createGroup(audit)
		s.join(listener.Options{}, succeed)
		s.send("order")
		eventually(t, "it is done", func() bool { return s.count(outcome(dedup.Ran)) == 1 })
		s.joinWith(listener.Options{}, func(m *member) error { return s.subscribe(m, s.Topic, succeed) },
			consumer.WithGroupName(audit))
		refused := func(e dedup.Event) bool { return e.Redelivered && errors.Is(e.Err, listener.ErrGroup) }
		eventually(t, "it is sent back", func() bool { return s.count(refused) > 0 })
		s.wantRuns(t, 1, "order")
	})
}

// A batch send of the Java client gives all its messages one UNIQ_KEY.
func TestBrokerSiblingsWithOneUniqKeyAllRun(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		s.join(listener.Options{Key: listener.DefaultKey(), BatchSize: 8}, failingFirst(&s.ledger, 1))
		keys := ids("sibling", 6)
		var batch []*primitive.Message
		for _, body := range keys {
			m := primitive.NewMessage(s.Topic, []byte(body))
			m.WithProperty(primitive.PropertyUniqueClientMessageIdKeyIndex, "7F0000010000000000000000"+s.Group[:8])
			batch = append(batch, m)
		}
		s.deliver(batch...)
		eventually(t, "all run", func() bool { return s.count(outcome(dedup.Ran)) >= len(keys) })
		s.wantRuns(t, 2, keys...) // the first failed
	})
}

// A batch send of the Go client gives its messages no UNIQ_KEY at all: what
// stays over retries is the offset of the first stored copy.
func TestBrokerABatchWithoutUniqKeyIsRecognisedOnRetries(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		keys := ids("member", 4)
		var batch []*primitive.Message
		for _, body := range keys {
			batch = append(batch, primitive.NewMessage(s.Topic, []byte(body)))
		}
		s.deliver(batch...)
		s.join(listener.Options{Key: listener.DefaultKey(), BatchSize: 4},
			func(_ context.Context, m *primitive.MessageExt) error {
				if m.GetProperty(primitive.PropertyUniqueClientMessageIdKeyIndex) != "" {
					t.Error("the client has given a member of a batch a UNIQ_KEY")
				}
				if string(m.Body) == keys[2] && s.runs(keys[2]) <= 2 {
					return errBoom
				}
				return nil
			})
		eventually(t, "all are done", func() bool { return s.count(outcome(dedup.Ran)) == 4 })
		s.wantRuns(t, 1, keys[0], keys[1], keys[3])
		s.wantRuns(t, 3, keys[2])
		if attempts := s.count(func(e dedup.Event) bool { return e.Attempt == 3 }); attempts != 1 {
			t.Errorf("got %d third attempts, want 1: the key changed between the retries", attempts)
		}
		if skipped := s.count(outcome(dedup.Skipped)); skipped < 3 {
			t.Errorf("got %d skipped siblings, want those of the failed batch at least", skipped)
		}
	})
}
