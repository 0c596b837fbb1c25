package demo

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Lease is for how long a dead consumer blocks the orders that it was charging.
const Lease = 2 * time.Second

// keepLedger is keep for a demo that may be played on when it was killed.
const keepLedger = 24 * time.Hour

const (
	keep = 10 * time.Minute      // how long a charged order is remembered; the story is over long before
	work = 30 * time.Millisecond // how long it takes to charge an order
)

// member is one consumer of the group.
type member struct {
	*scene
	instance string
	client   rocketmq.PushConsumer
	dedup    *listener.DedupConcurrentListener // nil without dedup

	gone   atomic.Bool   // the process died
	buried chan struct{} // closed when the play is over
}

// callback is what an application changes: charge, and with dedup charge in a
// listener.
func (m *member) callback() (listener.Callback, error) {
	if m.records == nil {
		return m.charge, nil
	}
	records := mortal{m.records, &m.gone} // as it is to die; an application has just m.records
	var err error
	m.dedup, err = listener.NewDedupConcurrentListener(m.name, records, listener.Options{
		Topics: []listener.Topic{{
			Name:   m.name,
			Key:    listener.KeyFromJSON("order.no"), // what makes two messages the same order
			Policy: dedup.Policy{Lease: Lease, Keep: m.settings.keep()},
		}},
		DelayLevels: m.broker.delays,
		Guard:       dedup.Options{Observer: m, Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return nil, err
	}
	return m.dedup.Wrap(m.charge), nil
}

// charge is the business. The orders that it runs when its process dies are not
// charged.
func (m *member) charge(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	for _, msg := range msgs {
		var body body
		if err := json.Unmarshal(msg.Body, &body); err != nil {
			return consumer.ConsumeRetryLater, err
		}
		select {
		case <-time.After(work):
		case <-ctx.Done(): // the claim was lost: somebody else may charge it by now
			return consumer.ConsumeRetryLater, nil
		}
		if m.gone.Load() {
			return consumer.ConsumeRetryLater, nil
		}
		if err := m.ledger.charge(body.Order.No); err != nil {
			return consumer.ConsumeRetryLater, err
		}
	}
	return consumer.ConsumeSuccess, nil
}

// join starts a consumer.
func (s *scene) join() error {
	m := &member{scene: s, instance: store.NewToken().String(), buried: make(chan struct{})}
	cb, err := m.callback()
	if err != nil {
		return err
	}
	m.client, err = rocketmq.NewPushConsumer(
		consumer.WithGroupName(s.name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.broker.nameServer}),
		consumer.WithInstance(m.instance), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		return err
	}
	if err := m.client.Subscribe(s.name, consumer.MessageSelector{}, m.watched(cb)); err != nil {
		return err
	}
	s.alive = append(s.alive, m)
	return m.client.Start()
}

// watched notes which messages cb acknowledges. When the process died nobody
// learns of that any more.
func (m *member) watched(cb listener.Callback) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		result, err := consumer.ConsumeRetryLater, error(nil)
		if !m.gone.Load() {
			result, err = cb(ctx, msgs...)
		}
		if m.gone.Load() {
			<-m.buried
			return consumer.ConsumeRetryLater, nil
		}
		if result == consumer.ConsumeSuccess && err == nil {
			for _, msg := range msgs {
				m.ledger.finish(msg.MsgId)
			}
		}
		return result, err
	}
}

// Observe is told what became of every delivery.
func (m *member) Observe(_ context.Context, e dedup.Event) {
	if !m.gone.Load() {
		m.ledger.observe(e.Outcome)
	}
}

// leave stops the consumer as an application does. With dedup its running
// callbacks end first.
func (m *member) leave(ctx context.Context) error {
	if m.dedup == nil {
		return m.stop()
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return m.dedup.Shutdown(ctx, m.client)
}

// die is the end of the process: nothing that it does counts from now on.
func (m *member) die() error {
	m.gone.Store(true)
	m.broker.cut(m.instance)
	return m.stop() // so that the client connects no more
}

// stop shuts the client down when it does not pull any more: it panics, rarely,
// when it has pulled something while it shuts down. With dedup Shutdown of the
// listener sees to that.
func (m *member) stop() error {
	m.client.Suspend()
	time.Sleep(100 * time.Millisecond) // nothing tells when a pull is over
	return m.client.Shutdown()
}
