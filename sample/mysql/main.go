// Command mysql shows the main job with records in MySQL or MariaDB: orders are
// charged by two consumers that share a table, the producer sends many orders
// twice, callbacks fail, and one consumer is restarted in the middle; still every
// order is charged once. Use this when you look for a start to copy from: package
// database beside it, newConsumer and the sweep are all that an application needs.
//
//	go run ./sample/mysql -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells how often callbacks ran, counted outside the store: extra is
// how many charges too many were made, lost is how many orders were never
// charged. If either is not 0 the exit code is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/tidwall/gjson"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// settings are the flags. The name of the run is that of topic and group.
type settings struct {
	stage.Run
	dsn    string
	orders int
}

func main() {
	dsn := stage.DSN("dsn", "of the `database`", "MYSQL_DSN")
	orders := flag.Int("orders", 200, "how many orders there are; every third is sent twice, every fifth fails at first")
	stage.Main(func(ctx context.Context, r stage.Run) error { return run(ctx, settings{r, *dsn, *orders}) })
}

func run(ctx context.Context, s settings) (err error) {
	// The pool is for the records alone: a callback that took its last connection would
	// wait for itself.
	db, records, err := database.Records(ctx, s.dsn, 16)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	stopSweep, err := keepSwept(ctx, records)
	if err != nil {
		return err
	}
	defer stopSweep()
	if err := s.CreateTopics(ctx, s.Name); err != nil {
		return err
	}
	var failing []string
	for i := 0; i < s.orders; i += 5 {
		failing = append(failing, stage.Number(i))
	}
	numbers := stage.EveryThirdTwice(s.orders)
	books := stage.NewLedger(numbers, failing)
	start := func() (stop func() error, err error) { return newConsumer(s, records, books) }
	send := func() error { return s.Send(ctx, numbers, s.message) }
	if err := books.RestartHalfWay(ctx, start, send); err != nil {
		return err
	}
	return books.Conclude()
}

// keepSwept removes expired records until the result is called.
func keepSwept(ctx context.Context, records *mysqlstore.Store) (stop func(), err error) {
	loop, err := sweep.New(records, sweep.Options{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	sweeping.Go(func() { _ = loop.Run(ctx) }) // which fails only when it runs already
	return func() {
		cancel()
		sweeping.Wait()
	}, nil
}

// batch is how many messages the client gives to the listener at once, which
// claims them in one statement. It is told to both.
const batch = 32

// newConsumer starts a consumer that charges orders, each once, until stop is called.
func newConsumer(s settings, records store.Store, books *stage.Ledger) (stop func() error, err error) {
	l, err := listener.NewDedupConcurrentListener(s.Name, records, listener.Options{
		Topics: []listener.Topic{{
			Name:   s.Name,
			Key:    listener.KeyFromJSON("order.no"), // what makes two messages the same order
			Policy: dedup.Policy{Keep: time.Hour},
		}},
		BatchSize: batch,
		Guard:     dedup.Options{Observer: books, Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return nil, err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(s.Name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.NameServer}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(batch),
		consumer.WithConsumeGoroutineNums(4), // of batches, of which up to 16 messages run at once
	)
	if err != nil {
		return nil, err
	}
	charge := func(_ context.Context, m *primitive.MessageExt) error {
		return books.Charge(gjson.GetBytes(m.Body, "order.no").String())
	}
	if err := l.Subscribe(c, s.Name, consumer.MessageSelector{}, charge); err != nil {
		return nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return l.Shutdown(ctx, c) // running callbacks end before the consumer leaves its group
	}
	return stop, c.Start()
}

func (s settings) message(no string) *primitive.Message {
	return primitive.NewMessage(s.Name, fmt.Appendf(nil, `{"order":{"no":%q},"cents":1999}`, no))
}
