// Command split shows a chain of work that is split into small transactions: one
// step books an order in MySQL or MariaDB and hands it over to the next, which
// ships it. The message for the next step exists exactly if the booking is
// committed. The producer sends many orders twice, and one of two processes is
// killed in the middle of its work, as kill -9 does; still every order is booked
// once and shipped once. Use this when you look for a start to copy from: newChain,
// book, ship and sample/mysql/database are all that an application needs.
//
//	go run ./sample/split -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells what is in the table, in which nothing else would keep a
// second booking or shipment out: extra is how many of them there are too many, lost
// how many never came. If either is not 0 the exit code is 1.
package main

import (
	"context"
	"errors"
	"flag"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// settings are the flags. The name of the run is that of the first topic and its
// group, and of its rows in the table.
type settings struct {
	stage.Run
	dsn    string
	orders int
}

// next is the topic of the second step, and its group.
func (s settings) next() string { return s.Name + "-ship" }

func main() {
	dsn := stage.DSN("dsn", "of the `database`", "MYSQL_DSN")
	orders := flag.Int("orders", 200, "how many orders there are; every third is sent twice")
	stage.Main(func(ctx context.Context, r stage.Run) error { return run(ctx, settings{r, *dsn, *orders}) })
}

func run(ctx context.Context, s settings) (err error) {
	db, records, err := database.Records(ctx, s.dsn, 24) // more than callbacks run at once
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	shop := &shop{db, s.Name, s.next()}
	if s.Part == "" {
		return lead(ctx, s, shop, records)
	}
	c, err := newChain(ctx, s, records, shop)
	if err != nil {
		return err
	}
	stage.AwaitLeave()
	return c.shutdown()
}

// lead takes part, too, and has the other process killed half way.
func lead(ctx context.Context, s settings, shop *shop, records store.Store) error {
	if err := s.CreateTopics(ctx, s.Name, s.next()); err != nil {
		return err
	}
	if err := shop.open(ctx); err != nil {
		return err
	}
	c, err := newChain(ctx, s, records, shop)
	if err != nil {
		return err
	}
	send := func() error { return s.Send(ctx, stage.EveryThirdTwice(s.orders), s.message) }
	if err := s.KillHalfWay(ctx, send, 2*s.orders, shop.done); err != nil {
		return err
	}
	if err := c.shutdown(); err != nil {
		return err
	}
	return shop.close(ctx, s.orders)
}

func (s settings) message(no string) *primitive.Message {
	return primitive.NewMessage(s.Name, []byte(no)).WithKeys([]string{no})
}
