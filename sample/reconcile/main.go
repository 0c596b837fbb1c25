// Command reconcile shows three steps without a common transaction: claim a key in
// one database, apply the order in another, mark the key as done. A consumer process
// is killed again and again between the second step and the third, as kill -9 does
// it, and a checkout that takes orders without messages dies with all of its orders
// in the making, so that no broker delivers them again. Consumers that take over ask
// a Verifier first, and a reconciler with the same Verifier brings the rest to its
// end. Use this when you look for a start to copy from: verify, newConsumer and
// newReconciler are all that an application needs.
//
//	go run ./sample/reconcile -namesrv 127.0.0.1:9876 -records 'root@tcp(127.0.0.1:3306)/dedup' \
//	  -shop 'root@tcp(127.0.0.2:3306)/shop'
//
// Its last line tells how often processes were killed, what the reconciler did, and
// what is in the tables, in which nothing else would keep a second application out:
// extra is how many times too many orders were applied, lost is how many were never
// applied, unfinished is how many are not marked as done. If one of these is not 0 the
// exit code is 1.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// settings are the flags, and a name that no other run has.
type settings struct {
	namesrv, records, shop string
	orders                 int
	name                   string // of topic and group, and of this run in the tables
}

func main() {
	var s settings
	flag.StringVar(&s.namesrv, "namesrv", "127.0.0.1:9876", "`host:port` of the RocketMQ name server")
	flag.StringVar(&s.records, "records", "", "of the `database` with the records; better in the variable RECORDS_DSN if"+
		" it has a password\n(default root@tcp(127.0.0.1:3306)/dedup)")
	flag.StringVar(&s.shop, "shop", "", "of the `database` with the orders, on any server, or the variable SHOP_DSN\n"+
		"(default that of the records)")
	flag.IntVar(&s.orders, "orders", 100, "how many orders there are; every fourth comes without a message")
	flag.Parse()
	s.records = cmp.Or(s.records, os.Getenv("RECORDS_DSN"), "root@tcp(127.0.0.1:3306)/dedup")
	s.shop = cmp.Or(s.shop, os.Getenv("SHOP_DSN"), s.records)
	s.name = cmp.Or(os.Getenv(nameEnv), "sample-"+store.NewToken().String()[:12])
	listener.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	records, closeRecords, err := openRecords(ctx, s.records)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRecords(ctx)) }()
	shop, err := openShop(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.db.Close()) }()
	switch os.Getenv(roleEnv) {
	case roleConsume:
		return consume(ctx, s, shop, records)
	case roleCheckOut:
		return checkOut(ctx, s, shop, records)
	}
	return lead(ctx, s, shop, records)
}

// consume is the process that is killed. It leaves when its input ends.
func consume(ctx context.Context, s settings, shop *shop, records store.Store) error {
	m, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return m.shutdown(ctx)
}

// lead sends the orders, has others apply them, and reconciles.
func lead(ctx context.Context, s settings, shop *shop, records *mysqlstore.Store) error {
	servers := []string{s.namesrv}
	if err := listener.CreateTopic(ctx, s.name, 8, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	// Without it the first retry of a new group takes 40 seconds.
	if err := listener.EnsureRetryTopic(ctx, s.name, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	p, err := newPublisher(s)
	if err != nil {
		return err
	}
	defer func() { _ = p.Shutdown() }() // it has nothing of ours left
	for i := range s.orders {
		if byCheckOut(i) {
			continue
		}
		if err := p.publish(ctx, s.key(i)); err != nil {
			return err
		}
	}
	r, err := newReconciler(s, records, shop, p)
	if err != nil {
		return err
	}
	if _, err := once(ctx, s, roleCheckOut); err != nil {
		return err
	}
	kills, err := finish(ctx, s, shop, records, r)
	return errors.Join(err, conclude(ctx, shop, records, kills+1, r.Stats()))
}

// finish has a consumer process and the reconciler work until every order is
// applied and marked.
func finish(
	ctx context.Context, s settings, shop *shop, records store.Scanner, r *reconcile.Reconciler,
) (kills int, err error) {
	ctx, leave := context.WithTimeout(ctx, 5*time.Minute)
	var beside sync.WaitGroup
	var reconciling, consuming error
	beside.Go(func() { reconciling = r.Run(ctx) })
	beside.Go(func() {
		defer leave() // without a consumer there is nothing to wait for
		kills, consuming = again(ctx, s, roleConsume)
	})
	waiting := await(ctx, shop, records)
	leave()
	beside.Wait()
	return kills, errors.Join(reconciling, consuming, waiting)
}
