package listener_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

var errBoom = errors.New("boom")

// rig is a listener on a fresh store that takes the key from KEYS, and what its
// callbacks and its observer saw.
type rig struct {
	*listener.DedupConcurrentListener
	store *memstore.Store

	mu     sync.Mutex // guards what follows
	ran    []string
	events []dedup.Event
}

func newRig(t *testing.T, o listener.Options) *rig { return newRigOn(t, o, nil) }

// newRigOn puts wrap, if it is not nil, between the listener and its store.
func newRigOn(t *testing.T, o listener.Options, wrap func(*memstore.Store) store.Store) *rig {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, s := &rig{store: mem}, store.Store(mem)
	if wrap != nil {
		s = wrap(mem)
	}
	if o.Key == nil {
		o.Key = listener.KeyFromKeys()
	}
	o.Guard.Logger = slog.New(slog.DiscardHandler)
	o.Guard.Observer = dedup.ObserverFunc(func(_ context.Context, e dedup.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
	r.DedupConcurrentListener, err = listener.NewDedupConcurrentListener("billing", s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// handler notes the runs and fails for the ids given.
func (r *rig) handler(failing ...string) listener.Handler {
	return func(_ context.Context, m *primitive.MessageExt) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran = append(r.ran, m.GetKeys())
		for _, id := range failing {
			if m.GetKeys() == id {
				return errBoom
			}
		}
		return nil
	}
}

func (r *rig) wantRan(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[string]int{}
	for _, id := range r.ran {
		got[id]++
	}
	for _, id := range want {
		got[id]--
	}
	for id, n := range got {
		if n != 0 {
			t.Errorf("runs of %q: %+d against %v", id, n, want)
		}
	}
}

func delivered(topic, id string, reconsumed int32) *primitive.MessageExt {
	m := &primitive.MessageExt{ReconsumeTimes: reconsumed, OffsetMsgId: "offset-" + id}
	m.Topic = topic
	m.Body = []byte("body of " + id)
	m.WithKeys([]string{id})
	m.WithProperty(primitive.PropertyUniqueClientMessageIdKeyIndex, "uniq-"+id)
	return m
}

func orders(ids ...string) (msgs []*primitive.MessageExt) {
	for _, id := range ids {
		msgs = append(msgs, delivered("orders", id, 0))
	}
	return msgs
}

// consume calls cb as the client does and returns its answer and delay level.
func consume(t *testing.T, cb listener.Callback, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, int) {
	t.Helper()
	cctx := primitive.NewConsumeConcurrentlyContext()
	result, err := cb(primitive.WithConcurrentlyCtx(context.Background(), cctx), msgs...)
	if err != nil {
		t.Errorf("the client was given the error %v", err)
	}
	return result, cctx.DelayLevelWhenNextConsume
}

func want(t *testing.T, cb listener.Callback, result consumer.ConsumeResult, level int, msgs ...*primitive.MessageExt) {
	t.Helper()
	if got, gotLevel := consume(t, cb, msgs...); got != result || gotLevel != level {
		t.Errorf("got result %v, level %d; want %v, %d", got, gotLevel, result, level)
	}
}

const (
	success = consumer.ConsumeSuccess
	retry   = consumer.ConsumeRetryLater
)

func claim(t *testing.T, s store.Store, id string) {
	t.Helper()
	claimFor(t, s, id, 2*time.Minute)
}

func claimFor(t *testing.T, s store.Store, id string, lease time.Duration) {
	t.Helper()
	v, err := s.Claim(t.Context(), store.ClaimRequest{
		Key:   store.Key{Application: "billing", Topic: "orders", ID: id},
		Token: store.NewToken(), Lease: lease, Horizon: time.Hour,
	})
	if err != nil || v.State != store.Claimed {
		t.Fatal(v, err)
	}
}

type subscriptions map[string]listener.Callback

func (s subscriptions) Subscribe(topic string, _ consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	s[topic] = f
	return nil
}

type producer struct {
	sent []*primitive.Message
	err  error
}

func (p *producer) SendSync(_ context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.sent = append(p.sent, msgs...)
	return &primitive.SendResult{}, nil
}

type stopper struct {
	stops int
	err   error
}

func (s *stopper) Shutdown() error { s.stops++; return s.err }
