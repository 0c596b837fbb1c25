// Command reconcile shows three steps without a common transaction: claim a key in
// one database, apply the order in another, mark the key as done. A consumer process
// is killed again and again between the second step and the third, as kill -9 does
// it, and a checkout that takes orders without messages dies with all of its orders
// in the making, so that no broker delivers them again. Consumers that take over ask
// a Verifier first, and a reconciler with the same Verifier brings the rest to its
// end. Use this when you look for a start to copy from: verify, newConsumer,
// newReconciler and sample/mysql/database are all that an application needs.
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
	"os"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// settings are the flags. The name of the run is that of topic and group, and of its
// rows in the tables.
type settings struct {
	stage.Run
	records, shop string
	orders        int
}

func main() {
	records := stage.DSN("records", "of the `database` with the records", "RECORDS_DSN")
	shop := flag.String("shop", "", "of the `database` with the orders, on any server, or the variable SHOP_DSN\n"+
		"(default that of the records)")
	orders := flag.Int("orders", 100, "how many orders there are; every fourth comes without a message")
	stage.Main(func(ctx context.Context, r stage.Run) error {
		return run(ctx, settings{r, *records, cmp.Or(*shop, os.Getenv("SHOP_DSN"), *records), *orders})
	})
}

func run(ctx context.Context, s settings) (err error) {
	db, records, err := database.Records(ctx, s.records, 16)
	if err != nil {
		return fmt.Errorf("-records: %w", err)
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	shop, err := openShop(ctx, s)
	if err != nil {
		return fmt.Errorf("-shop: %w", err)
	}
	defer func() { err = errors.Join(err, shop.db.Close()) }()
	switch s.Part {
	case consuming:
		return consume(s, shop, records)
	case checkingOut:
		return checkOut(ctx, s, shop, records)
	}
	return lead(ctx, s, shop, records)
}

// consume is the process that is killed.
func consume(s settings, shop *shop, records store.Store) error {
	stop, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	stage.AwaitLeave()
	return stop()
}

// lead sends the orders, has others apply them, and reconciles.
func lead(ctx context.Context, s settings, shop *shop, records *mysqlstore.Store) error {
	if err := s.CreateTopics(ctx, s.Name); err != nil {
		return err
	}
	producer, err := s.Producer()
	if err != nil {
		return err
	}
	p := publisher{producer}
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
	if _, err := once(ctx, s, checkingOut); err != nil {
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
	var reconciled, consumed error
	beside.Go(func() { reconciled = r.Run(ctx) })
	beside.Go(func() {
		defer leave() // without a consumer there is nothing to wait for
		kills, consumed = again(ctx, s, consuming)
	})
	waiting := await(ctx, shop, records)
	leave()
	beside.Wait()
	return kills, errors.Join(reconciled, consumed, waiting)
}
