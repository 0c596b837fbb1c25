package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// openStore makes the table if it is not there. Every callback that runs has a
// connection of the pool to itself.
func openStore(ctx context.Context, dsn string) (*sql.DB, *mysqlstore.Store, error) {
	o, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, nil, errors.New("-dsn: want user:password@tcp(host:port)/database") // err may show the password
	}
	o.Timeout, o.ReadTimeout, o.WriteTimeout = 5*time.Second, 10*time.Second, 5*time.Second
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	o.Params["innodb_lock_wait_timeout"] = "1" // a copy waits for a second, and is deferred
	connector, err := mysql.NewConnector(o)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(mysqlstore.Connector(connector)) // which makes transactions faster
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24) // the default of 2 would open and close connections all the time
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: "dedup_sample"})
	if err == nil {
		err = records.Migrate(ctx)
	}
	if err == nil {
		err = records.Check(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, records, nil
}

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
// sweep.Loop, as sample/mysql has.
func newChain(ctx context.Context, s settings, records store.Store, shop *shop) (*chain, error) {
	booking, err := newStep(s, s.name, records)
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
		producer.WithGroupName(s.name+"-out"), // the broker asks any process that has it
		producer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
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
		booking.SubscribeTx(booking.client, s.name, all, out.Step(p, shop.book)),
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
		consumer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeGoroutineNums(8), // as many transactions at once
	)
	return step{l, c}, err
}

// shutdown lets running callbacks end before the consumers leave their groups,
// and keeps the producer for them until then.
func (c *chain) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs []error
	for _, s := range c.steps {
		errs = append(errs, s.Shutdown(ctx, s.client))
	}
	return errors.Join(append(errs, c.out.Shutdown())...)
}

// produce sends every order, and every third again as a new message.
func produce(ctx context.Context, s settings) error {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
		producer.WithInstanceName(store.NewToken().String()),
	)
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	defer func() { _ = p.Shutdown() }() // it has nothing of ours left
	for i := range s.orders {
		no := fmt.Sprintf("A-%04d", i)
		copies := 1
		if i%3 == 0 {
			copies = 2
		}
		for range copies {
			m := primitive.NewMessage(s.name, []byte(no)).WithKeys([]string{no})
			if _, err := p.SendSync(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}
