// Command split shows a chain of work that is split into small transactions: one
// step books an order in MySQL or MariaDB and hands it over to the next, which
// ships it. The message for the next step exists exactly if the booking is
// committed. The producer sends many orders twice, and one of two processes is
// killed in the middle of its work, as kill -9 does; still every order is booked
// once and shipped once. Use this when you look for a start to copy from: steps,
// book and ship are all that an application needs.
//
//	go run ./sample/split -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells what is in the table, in which nothing else would keep a
// second booking or shipment out: extra is how many of them there are too many, lost
// how many never came. If either is not 0 the exit code is 1.
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
	"os/exec"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// settings are the flags, and a name that no other run has.
type settings struct {
	namesrv, dsn string
	orders       int
	name         string // of the first topic and its group, and of this run in the table
}

// next is the topic of the second step, and its group.
func (s settings) next() string { return s.name + "-ship" }

// joinEnv is the variable that makes this program the second process of the run that
// it names.
const joinEnv = "SPLIT_JOIN"

func main() {
	var s settings
	flag.StringVar(&s.namesrv, "namesrv", "127.0.0.1:9876", "`host:port` of the RocketMQ name server")
	flag.StringVar(&s.dsn, "dsn", "", "of the `database`; better in the variable MYSQL_DSN if it has a password\n"+
		"(default root@tcp(127.0.0.1:3306)/dedup)")
	flag.IntVar(&s.orders, "orders", 200, "how many orders there are; every third is sent twice")
	flag.Parse()
	s.dsn = cmp.Or(s.dsn, os.Getenv("MYSQL_DSN"), "root@tcp(127.0.0.1:3306)/dedup")
	s.name = cmp.Or(os.Getenv(joinEnv), "sample-"+store.NewToken().String()[:12])
	listener.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	db, records, err := openStore(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Wait(ctx), db.Close()) }()
	shop := &shop{db, s.name, s.next()}
	if os.Getenv(joinEnv) == "" {
		return lead(ctx, s, shop, records)
	}
	c, err := newChain(ctx, s, records, shop)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end tells to leave
	return c.shutdown(ctx)
}

// lead takes part, too, and has the other process killed half way.
func lead(ctx context.Context, s settings, shop *shop, records store.Store) error {
	servers := []string{s.namesrv}
	for _, name := range []string{s.name, s.next()} {
		if err := listener.CreateTopic(ctx, name, 8, servers, listener.TopicOptions{}); err != nil {
			return err
		}
		// Without it the first retry of a new group takes 40 seconds.
		if err := listener.EnsureRetryTopic(ctx, name, servers, listener.TopicOptions{}); err != nil {
			return err
		}
	}
	if err := shop.open(ctx); err != nil {
		return err
	}
	c, err := newChain(ctx, s, records, shop)
	if err != nil {
		return err
	}
	if err := shipAll(ctx, s, shop); err != nil {
		return err
	}
	if err := c.shutdown(ctx); err != nil {
		return err
	}
	return shop.close(ctx, s.orders)
}

// shipAll sends all orders and waits until they are shipped, by this process and
// the other one, which is killed and started again in between.
func shipAll(ctx context.Context, s settings, shop *shop) error {
	other, leave, err := startOther(s)
	if err != nil {
		return err
	}
	err = produce(ctx, s)
	if err == nil {
		err = shop.await(ctx, booked, s.orders/2)
	}
	fmt.Fprintln(os.Stderr, "half of the orders are booked: killing the second process")
	_ = other.Process.Kill() // an error means that it has ended, which Wait tells
	_ = other.Wait()         // killed, as it is to be
	_ = leave.Close()
	if err != nil {
		return err
	}
	if other, leave, err = startOther(s); err != nil {
		return err
	}
	if err := shop.await(ctx, shipped, s.orders); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line tells what is missing
	}
	return errors.Join(leave.Close(), other.Wait())
}

// startOther starts the second process. It leaves when leave is closed.
func startOther(s settings) (other *exec.Cmd, leave io.Closer, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	other = exec.Command(program, "-namesrv", s.namesrv)
	other.Env = append(os.Environ(), joinEnv+"="+s.name, "MYSQL_DSN="+s.dsn)
	other.Stderr = os.Stderr
	if leave, err = other.StdinPipe(); err != nil {
		return nil, nil, err
	}
	return other, leave, other.Start()
}
