package listener_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	clientproducer "github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

const namespace = "NS1"

// A consumer with a namespace meets the records of the Java original, which
// leaves the namespace out, and has the original's default key.
func TestBrokerRecordsMeetThoseOfTheJavaOriginal(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		s.createTopic(namespace+"%"+s.Topic, 1)
		s.createGroup(namespace + "%" + s.Group)
		client := s.shareRecords(testserver.Redis(t).Addr())
		name := func(id string) string { return "MSGDEDUP:" + s.Group + ":" + s.Topic + ":TagA:" + id }
		set := func(args ...any) {
			t.Helper()
			if err := client.Do(t.Context(), append([]any{"SET"}, args...)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		set(name("A1001"), "CONSUMED", "EX", 86400)

		var id atomic.Value // of the message that has no key of its own
		s.joinNamespace(func(_ context.Context, m *primitive.MessageExt) error {
			if m.GetKeys() != "" {
				return nil
			}
			if word := client.Get(t.Context(), name(m.MsgId)).Val(); word != "CONSUMING" {
				t.Errorf("%q while the message runs: got %q, want CONSUMING", name(m.MsgId), word)
			}
			if first, again := id.Swap(m.MsgId).(string); again && first != m.MsgId {
				t.Errorf("id of the redelivery: got %q, want %q", m.MsgId, first)
			} else if !again {
				return errBoom
			}
			return nil
		})
		p := s.namespaceProducer()
		send := func(m *primitive.Message) string {
			t.Helper()
			r, err := p.SendSync(context.Background(), m.WithTag("TagA"))
			if err != nil {
				t.Fatal(err)
			}
			return r.MsgID
		}
		send(order(s.Topic, "A1001"))
		sent := send(primitive.NewMessage(s.Topic, []byte("no key")))
		eventually(t, "both are done", func() bool { return s.count(acknowledged) >= 2 })
		set(name("A2000"), "CONSUMING", "PX", s.brief(6*time.Second).Milliseconds()) // and then the original crashes
		send(order(s.Topic, "A2000"))
		eventually(t, "the third is done", func() bool { return s.count(acknowledged) >= 3 })
		s.wantRuns(t, 1, "A2000")
		if busy := s.count(because(dedup.ErrBusy)); busy == 0 {
			t.Error("what the original had claimed was not deferred")
		}
		if runs, skipped := s.runs("A1001"), s.count(outcome(dedup.Skipped)); runs != 0 || skipped != 1 {
			t.Errorf("what the original has done: got %d runs, %d skips, want it skipped", runs, skipped)
		}
		if id.Load() != sent {
			t.Errorf("default key: got %q, want the id that the producer was told, %q", id.Load(), sent)
		}
		for _, id := range []string{sent, "A1001", "A2000"} {
			if word := client.Get(t.Context(), name(id)).Val(); word != "CONSUMED" {
				t.Errorf("%q: got %q, want CONSUMED", name(id), word)
			}
		}
	})
}

// shareRecords has members keep records as the original does, in the Redis at
// addr, and returns a client of it.
func (s *scene) shareRecords(addr string) *redis.Client {
	s.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: 200 * time.Millisecond})
	s.t.Cleanup(func() { client.Close() })
	records, err := redisstore.NewJavaCompatible(client, redisstore.Options{MinLease: lease})
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = records
	return client
}

// joinNamespace adds a member in the namespace. It takes KEYS as the key where
// a message has them, and the original's default otherwise.
func (s *scene) joinNamespace(h listener.Handler) {
	s.t.Helper()
	byID := listener.MessageID()
	l, err := listener.NewDedupConcurrentListener(s.Group, s.records, listener.Options{
		Namespace: namespace, DelayLevels: s.Levels, Policy: dedup.Policy{Lease: lease},
		Guard: dedup.Options{Observer: &s.ledger, Logger: slog.New(slog.DiscardHandler)},
		Key: func(m *primitive.MessageExt) (string, error) {
			if keys := m.GetKeys(); keys != "" {
				return keys, nil
			}
			return byID(m)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer})),
		consumer.WithNamespace(namespace), consumer.WithGroupName(s.Group), consumer.WithInstance(s.Group+"-namespace"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err == nil {
		m := &member{DedupConcurrentListener: l, name: "namespace", client: c}
		s.t.Cleanup(func() { s.leave(m) })
		err = s.subscribe(m, s.Topic, h)
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) namespaceProducer() rocketmq.Producer {
	s.t.Helper()
	p, err := rocketmq.NewProducer(
		clientproducer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer})),
		clientproducer.WithNamespace(namespace), clientproducer.WithGroupName(s.Group+"-producers"),
		clientproducer.WithInstanceName(s.Group+"-namespace-producer"),
	)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Shutdown() }) // all is sent
	return p
}
