// Command dedupbench measures what it costs to make a RocketMQ consumer
// idempotent. Use this when you choose between ways of doing so, or when you
// have changed this library and want to know what became slower.
//
//	dedupbench consume -namesrv HOST:PORT -redis HOST:PORT [flags]
//	dedupbench consume -namesrv HOST:PORT -store mysql -mysql HOST:PORT [flags]
//
// fills a topic once and lets every contender consume it with a fresh group,
// again and again, in turns: a plain consumer, one by hand, and one behind this
// library's listener. Each turn is a process of its own. By hand is SETNX and SET
// with Redis, and with MySQL the statements of the Java original on its table.
// "dedupbench consume -h" lists the flags; -contender adds a program of yours.
//
// What the figures mean, each a median over the repetitions:
//
//   - messages/s: all messages by the time from the first callback's start to
//     the last message's acknowledgement.
//   - × plain: that rate by the plain consumer's in the same repetition.
//   - CPU µs: processor time of the whole process in that window (RocketMQ
//     client, store client, garbage collection, the counting itself) per
//     message; "over plain" is the difference within one repetition.
//   - added p50 and p99: time inside one callback during which none of its
//     user code ran; of the whole batch if it is one.
//   - trips: round trips to the store per message, counted on its connections.
//   - server µs: processor time of the server that keeps the records per message;
//     of MySQL it is known on the same machine only.
//
// A program of yours takes part by -contender NAME=COMMAND. It is told what to
// do by the environment variables in stage.go (DEDUPBENCH_NAMESRV, _TOPIC,
// _GROUP, _MESSAGES, _REDIS, _MYSQL and more), exits with 0 when all messages are
// acknowledged, and may print a report of its own as its last line, as report.go
// says; without one its whole process is measured, starting up included.
//
// A run counts only if every message was acknowledged and every key ran as
// often as the contender promises. A cell with a run that does not count is
// marked and makes the exit code 1; 2 is for bad flags. Topics and records are
// removed in the end; the broker keeps the names of the groups.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: dedupbench consume -namesrv HOST:PORT -redis HOST:PORT [flags]
       dedupbench consume -namesrv HOST:PORT -store mysql -mysql HOST:PORT [flags]
       dedupbench consume -h
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with all that it touches as parameters; it returns the exit code.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "consume":
		return consume(ctx, args[1:], out, log)
	case contendVerb:
		return contend(ctx, out, log)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return 0
	}
	fmt.Fprintf(log, "dedupbench: unknown verb %q\n%s", verb, usage)
	return 2
}
