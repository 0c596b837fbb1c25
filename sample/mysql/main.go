// Command mysql shows the main job with records in MySQL or MariaDB: orders are
// charged by two consumers that share a table, the producer sends many orders
// twice, callbacks fail, and one consumer is restarted in the middle; still every
// order is charged once. Use this when you look for a start to copy from: openStore,
// newConsumer and the sweep are all that an application needs.
//
//	go run ./sample/mysql -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells how often callbacks ran, counted outside the store: extra is
// how many charges too many were made, lost is how many orders were never
// charged. If either is not 0 the exit code is 1.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
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
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// settings are the flags, and a name that no other run has.
type settings struct {
	namesrv, dsn string
	orders       int
	name         string // of topic and group
}

func main() {
	s := settings{name: "sample-" + store.NewToken().String()[:12]}
	flag.StringVar(&s.namesrv, "namesrv", "127.0.0.1:9876", "`host:port` of the RocketMQ name server")
	flag.StringVar(&s.dsn, "dsn", "", "of the `database`; better in the variable MYSQL_DSN if it has a password\n"+
		"(default root@tcp(127.0.0.1:3306)/dedup)")
	flag.IntVar(&s.orders, "orders", 200, "how many orders there are; every third is sent twice, every fifth"+
		" fails at first")
	flag.Parse()
	s.dsn = cmp.Or(s.dsn, os.Getenv("MYSQL_DSN"), "root@tcp(127.0.0.1:3306)/dedup")
	listener.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

	books := newLedger(s.orders)
	if err := run(s, books); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(books)
	if books.wrong() {
		os.Exit(1)
	}
}

func run(s settings, books *ledger) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	db, records, err := openStore(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	stopSweep, err := keepSwept(ctx, records)
	if err != nil {
		return err
	}
	defer stopSweep()
	servers := []string{s.namesrv}
	if err := listener.CreateTopic(ctx, s.name, 8, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	// Without it the first retry of a new group takes 40 seconds.
	if err := listener.EnsureRetryTopic(ctx, s.name, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	return charge(ctx, s, records, books)
}

// charge has two consumers charge all orders. The second is restarted half way.
func charge(ctx context.Context, s settings, records store.Store, books *ledger) error {
	one, err := newConsumer(s, records, books)
	if err != nil {
		return err
	}
	two, err := newConsumer(s, records, books)
	if err != nil {
		return err
	}
	if err := produce(ctx, s, books); err != nil {
		return err
	}
	if err := books.await(ctx, books.halfDone); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "half of the orders are charged: restarting the second consumer")
	if err := two.shutdown(ctx); err != nil {
		return err
	}
	if two, err = newConsumer(s, records, books); err != nil {
		return err
	}
	if err := books.await(ctx, books.allDone); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line tells what is missing
	}
	return errors.Join(one.shutdown(ctx), two.shutdown(ctx))
}

// openStore makes the table if it is not there. The pool is for the records
// alone: a callback that took its last connection would wait for itself.
func openStore(ctx context.Context, dsn string) (*sql.DB, *mysqlstore.Store, error) {
	o, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, nil, errors.New("-dsn: want user:password@tcp(host:port)/database") // err may show the password
	}
	o.Timeout, o.ReadTimeout, o.WriteTimeout = 5*time.Second, 10*time.Second, 5*time.Second
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	o.Params["innodb_lock_wait_timeout"] = "1"
	connector, err := mysql.NewConnector(o)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16) // the default of 2 would open and close connections all the time
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

// member is one consumer of the group.
type member struct {
	*listener.DedupConcurrentListener
	client rocketmq.PushConsumer
}

// batch is how many messages the client gives to the listener at once, which
// claims them in one statement. It is told to both.
const batch = 32

// newConsumer starts a consumer that charges orders, each once.
func newConsumer(s settings, records store.Store, books *ledger) (*member, error) {
	l, err := listener.NewDedupConcurrentListener(s.name, records, listener.Options{
		Topics: []listener.Topic{{
			Name:   s.name,
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
		consumer.WithGroupName(s.name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(batch),
		consumer.WithConsumeGoroutineNums(4), // of batches, of which up to 16 messages run at once
	)
	if err != nil {
		return nil, err
	}
	if err := l.Subscribe(c, s.name, consumer.MessageSelector{}, books.charge); err != nil {
		return nil, err
	}
	return &member{l, c}, c.Start()
}

// shutdown lets running callbacks end before the consumer leaves its group, so
// that none of them runs again.
func (m *member) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return m.Shutdown(ctx, m.client)
}

// produce sends every order, and some of them again as new messages.
func produce(ctx context.Context, s settings, books *ledger) error {
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
		for range 1 + copies(i) {
			body := fmt.Sprintf(`{"order":{"no":%q},"cents":1999}`, number(i))
			if _, err := p.SendSync(ctx, primitive.NewMessage(s.name, []byte(body))); err != nil {
				return err
			}
			books.sent++
		}
	}
	return nil
}
