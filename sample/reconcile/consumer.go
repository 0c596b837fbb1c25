package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

const keep = time.Hour // of consumers and reconciler

// policy has everybody who takes over ask first. The lease is short for a sample:
// it is how long a crash blocks its key. Let it be longer than a write of a process
// that is dead may still be on its way to the database.
func policy(shop *shop) dedup.Policy {
	return dedup.Policy{Lease: 3 * time.Second, Keep: keep, Verifier: shop.verify}
}

// byCheckOut reports whether an order comes without a message.
func byCheckOut(i int) bool { return i%4 == 3 }

// key is that of an order, by message or not.
func (s settings) key(i int) store.Key {
	return store.Key{Application: s.Name, Topic: s.Name, ID: stage.Number(i)}
}

// newReconciler ends the claims that consumers do not take over. In a program
// Overdue and Every are minutes, as they are by default.
func newReconciler(s settings, records reconcile.Store, shop *shop, p publisher) (*reconcile.Reconciler, error) {
	return reconcile.New(records, reconcile.Options{
		Application: s.Name,
		Verifier:    shop.verify, // the consumers' own
		Retry:       p.publish,
		Overdue:     3 * time.Second,
		Every:       time.Second,
		Keep:        keep,
	})
}

// newConsumer starts a consumer that applies orders, each once, until stop is called.
func newConsumer(s settings, records store.Store, shop *shop) (stop func() error, err error) {
	l, err := listener.NewDedupConcurrentListener(s.Name, records, listener.Options{
		Key:    listener.KeyFromKeys(), // what makes two messages the same order
		Policy: policy(shop),
		Guard:  dedup.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return nil, err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(s.Name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.NameServer}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeGoroutineNums(4),
	)
	if err != nil {
		return nil, err
	}
	if err := l.Subscribe(c, s.Name, consumer.MessageSelector{}, shop.handle); err != nil {
		return nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return l.Shutdown(ctx, c) // running callbacks end before the consumer leaves its group
	}
	return stop, c.Start()
}
