// Command quickstart shows in a few seconds, with nothing but Go, what dedup is
// for: a producer sends orders, many of them twice, to consumers of which one
// joins, one is stopped and one is cut off in the middle; first without dedup,
// then with it. Use this when you look at this module for the first time. What an
// application needs is the function callback in demo/member.go.
//
//	go run ./sample/quickstart
//
// It runs a RocketMQ inside itself, or uses a real one with -namesrv, and keeps
// the records in memory. The table at its end is counted outside the store: extra
// is how many charges too many were made, lost is how many orders were never
// charged. With either in the last row the exit code is 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func main() {
	var s demo.Settings
	s.Flags(flag.CommandLine)
	flag.Parse()
	listener.LogTo(slog.New(slog.DiscardHandler)) // the client tells of every cut connection

	err := s.Validate()
	if flag.NArg() > 0 {
		err = fmt.Errorf("%q is not a flag", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(2)
	}
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(s demo.Settings) error {
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		return err
	}
	return demo.Run(context.Background(), s, records, os.Stdout, os.Stderr)
}
