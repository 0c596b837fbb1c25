// Command mysqltx shows effects that happen exactly once: orders are booked and
// taken out of stock in MySQL or MariaDB, in the transaction that the record of
// the message is part of. The producer sends many orders twice, and one of two
// consumer processes is killed in the middle of its work, as kill -9 does; still
// every order is booked once, and the stock is right. Use this when you look for a
// start to copy from: newConsumer, book and sample/mysql/database are all that an
// application needs.
//
//	go run ./sample/mysqltx -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells what is in the tables, in which nothing else would keep a
// second booking out: extra is how many orders or items too many were taken, lost is
// how many orders were never booked. If either is not 0 the exit code is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// settings are the flags. The name of the run is that of topic and group, and of its
// rows in the tables.
type settings struct {
	stage.Run
	dsn    string
	orders int
}

func main() {
	dsn := stage.DSN("dsn", "of the `database`", "MYSQL_DSN")
	orders := flag.Int("orders", 200, "how many orders there are; every third is sent twice")
	stage.Main(func(ctx context.Context, r stage.Run) error { return run(ctx, settings{r, *dsn, *orders}) })
}

func run(ctx context.Context, s settings) (err error) {
	db, records, err := database.Records(ctx, s.dsn, 16) // more than callbacks run at once
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	shop := &shop{db: db, run: s.Name}
	if s.Part == "" {
		return lead(ctx, s, shop, records)
	}
	stop, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	stage.AwaitLeave()
	return stop()
}

// newConsumer starts a consumer that books orders, each once, until stop is called. An
// application that runs for days also needs a sweep.Loop, as sample/mysql has.
func newConsumer(s settings, records store.Store, shop *shop) (stop func() error, err error) {
	l, err := listener.NewDedupConcurrentListener(s.Name, records, listener.Options{
		Key:    listener.KeyFromKeys(), // what makes two messages the same order
		Policy: dedup.Policy{Keep: time.Hour},
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
		consumer.WithConsumeGoroutineNums(8), // as many transactions at once
	)
	if err != nil {
		return nil, err
	}
	if err := l.SubscribeTx(c, s.Name, consumer.MessageSelector{}, shop.book); err != nil {
		return nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return l.Shutdown(ctx, c) // running callbacks end before the consumer leaves its group
	}
	return stop, c.Start()
}

// lead consumes, too, and has the other process killed half way.
func lead(ctx context.Context, s settings, shop *shop, records store.Store) error {
	if err := s.CreateTopics(ctx, s.Name); err != nil {
		return err
	}
	if err := shop.open(ctx, s.orders); err != nil {
		return err
	}
	stop, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	send := func() error { return s.Send(ctx, stage.EveryThirdTwice(s.orders), s.message) }
	if err := s.KillHalfWay(ctx, send, s.orders, shop.done); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	return shop.close(ctx, s.orders)
}

func (s settings) message(no string) *primitive.Message {
	return primitive.NewMessage(s.Name, []byte(no)).WithKeys([]string{no})
}
