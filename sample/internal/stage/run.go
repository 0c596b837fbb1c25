// Package stage has what the samples are played on: their flags, topics, orders
// that are sent twice, and consumers that are restarted or killed half way. Use this
// when you write a sample, beginning with [Main]. An application needs nothing of it:
// what is worth copying is in the samples themselves.
package stage

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Run is one run of a sample, by one process or by several.
type Run struct {
	NameServer string // host:port
	Name       string // which no other run has: for topics, groups and rows
	Part       string // of this process in the run, see [Run.Start]; "" for the one that leads
}

// Main parses the flags, to which it adds -namesrv, and has play do the rest within
// ten minutes. If play fails it tells why, and the program ends with exit code 1.
func Main(play func(context.Context, Run) error) {
	r := Run{
		Name: cmp.Or(os.Getenv(nameEnv), "sample-"+store.NewToken().String()[:12]),
		Part: os.Getenv(partEnv),
	}
	flag.StringVar(&r.NameServer, "namesrv", "127.0.0.1:9876", "`host:port` of the RocketMQ name server")
	flag.Parse()
	listener.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := play(ctx, r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// DSN defines a flag for a database, which the environment variable is an alternative
// to: everybody on a machine sees its flags. The result may be read once play of
// [Main] is called; with neither it is a database of a local server.
func DSN(name, about, variable string) *string {
	const local = "root@tcp(127.0.0.1:3306)/dedup"
	dsn := cmp.Or(os.Getenv(variable), local)
	about += "; better in the variable " + variable + " if it has a password\n(default " + local + ")"
	// No StringVar, whose help would show the variable's password as the default.
	flag.Func(name, about, func(given string) error {
		dsn = cmp.Or(given, dsn)
		return nil
	})
	return &dsn
}

// CreateTopics makes the topics, and the retry topics of the groups that are named
// like them.
func (r Run) CreateTopics(ctx context.Context, names ...string) error {
	servers := []string{r.NameServer}
	for _, name := range names {
		if err := listener.CreateTopic(ctx, name, 8, servers, listener.TopicOptions{}); err != nil {
			return err
		}
		// Without it the first retry of a new group takes 40 seconds.
		if err := listener.EnsureRetryTopic(ctx, name, servers, listener.TopicOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Await asks every 50 ms until it is done. It fails when done does, or ctx ends.
func Await(ctx context.Context, done func() (bool, error)) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return errors.New("not everything was done in time")
		}
	}
}
