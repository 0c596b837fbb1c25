// Command mysqltx shows effects that happen exactly once: orders are booked and
// taken out of stock in MySQL or MariaDB, in the transaction that the record of
// the message is part of. The producer sends many orders twice, and one of two
// consumer processes is killed in the middle of its work, as kill -9 does; still
// every order is booked once, and the stock is right. Use this when you look for a
// start to copy from: newConsumer and book are all that an application needs.
//
//	go run ./sample/mysqltx -namesrv 127.0.0.1:9876 -dsn 'root@tcp(127.0.0.1:3306)/orders'
//
// Its last line tells what is in the tables, in which nothing else would keep a
// second booking out: extra is how many orders or items too many were taken, lost is
// how many orders were never booked. If either is not 0 the exit code is 1.
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
	name         string // of topic and group, and of this run in the tables
}

// joinEnv is the variable that makes this program the second consumer of the run
// that it names.
const joinEnv = "MYSQLTX_JOIN"

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
	shop := &shop{db: db, run: s.name}
	if os.Getenv(joinEnv) == "" {
		return lead(ctx, s, shop, records)
	}
	m, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end tells to leave
	return m.shutdown(ctx)
}

// lead consumes, too, and has the other process killed half way.
func lead(ctx context.Context, s settings, shop *shop, records store.Store) error {
	servers := []string{s.namesrv}
	if err := listener.CreateTopic(ctx, s.name, 8, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	// Without it the first retry of a new group takes 40 seconds.
	if err := listener.EnsureRetryTopic(ctx, s.name, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	if err := shop.open(ctx, s.orders); err != nil {
		return err
	}
	m, err := newConsumer(s, records, shop)
	if err != nil {
		return err
	}
	if err := bookAll(ctx, s, shop); err != nil {
		return err
	}
	if err := m.shutdown(ctx); err != nil {
		return err
	}
	return shop.close(ctx, s.orders)
}

// bookAll sends all orders and waits until they are booked, by this process and
// the other one, which is killed and started again in between.
func bookAll(ctx context.Context, s settings, shop *shop) error {
	other, leave, err := startOther(s)
	if err != nil {
		return err
	}
	err = produce(ctx, s)
	if err == nil {
		err = shop.await(ctx, s.orders/2)
	}
	fmt.Fprintln(os.Stderr, "half of the orders are booked: killing the second consumer")
	_ = other.Process.Kill() // an error means that it has ended, which Wait tells
	_ = other.Wait()         // killed, as it is to be
	_ = leave.Close()
	if err != nil {
		return err
	}
	if other, leave, err = startOther(s); err != nil {
		return err
	}
	if err := shop.await(ctx, s.orders); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line tells what is missing
	}
	return errors.Join(leave.Close(), other.Wait())
}

// startOther starts the second consumer. It leaves when leave is closed.
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
