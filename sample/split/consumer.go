package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// chain is the two steps in one process. They might as well be in two.
type chain struct {
	steps []step
	out   rocketmq.TransactionProducer
}

// step is one consumer.
type step struct {
	*listener.DedupConcurrentListener
	client rocketmq.PushConsumer
}

// newChain starts both steps: what book returns is published exactly if its
// transaction is committed. An application that runs for days also needs a
// sweep.Loop, as sample/mysql has, and a consumer with out.Rescue.
func newChain(ctx context.Context, s settings, records store.Store, shop *shop) (*chain, error) {
	booking, err := newStep(s, s.Name, records)
	if err != nil {
		return nil, err
	}
	shipping, err := newStep(s, s.next(), records)
	if err != nil {
		return nil, err
	}
	out, err := booking.Outgoing()
	if err != nil {
		return nil, err
	}
	p, err := rocketmq.NewTransactionProducer(out,
		producer.WithGroupName(s.Name+"-out"), // the broker asks any process that has it
		producer.WithNameServer(primitive.NamesrvAddr{s.NameServer}),
		producer.WithInstanceName(store.NewToken().String()), // else the broker asks in vain
	)
	if err != nil {
		return nil, err
	}
	if err := out.Start(ctx, p, s.next()); err != nil {
		return nil, err
	}
	all := consumer.MessageSelector{}
	return &chain{[]step{booking, shipping}, p}, errors.Join(
		booking.SubscribeTx(booking.client, s.Name, all, out.Step(p, shop.book)),
		shipping.SubscribeTx(shipping.client, s.next(), all, shop.ship),
		booking.client.Start(), shipping.client.Start())
}

// newStep makes the consumer of a topic, whose group has its name.
func newStep(s settings, topic string, records store.Store) (step, error) {
	l, err := listener.NewDedupConcurrentListener(topic, records, listener.Options{
		Key:    listener.KeyFromKeys(), // what makes two messages the same order
		Policy: dedup.Policy{Keep: time.Hour},
		Guard:  dedup.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return step{}, err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(topic),
		consumer.WithNameServer(primitive.NamesrvAddr{s.NameServer}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeGoroutineNums(8), // as many transactions at once
	)
	return step{l, c}, err
}

// shutdown lets running callbacks end before the consumers leave their groups,
// and keeps the producer for them until then.
func (c *chain) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	for _, s := range c.steps {
		errs = append(errs, s.Shutdown(ctx, s.client))
	}
	return errors.Join(append(errs, c.out.Shutdown())...)
}
