// Command dedupctl runs idempotent RocketMQ consumers from a configuration file.
// Use this when the work of a message is a command in any language, when a
// consumer is to be tried out, or when a configuration is to be checked:
//
//	dedupctl consume -config FILE -exec COMMAND
//	dedupctl produce -config FILE -topic TOPIC -key KEY
//	dedupctl config validate FILE
//	dedupctl demo
//
// "dedupctl consume -h", "dedupctl produce -h" and "dedupctl demo -h" list the flags.
//
// # Exit codes
//
//	0  done; after SIGTERM or SIGINT: drained
//	1  failed: a server, a file, a topic; demo: an order was lost or charged twice with dedup
//	2  wrong usage or configuration; nothing was connected
//	3  stopped, but commands were still running at the end of drain_timeout
//
// # The summary of consume
//
// At its end the log tells, whatever log.level is, how the deliveries ended
// and for how long it consumed, such as
//
//	msg="dedupctl: stopped" ran=95 skipped=30 deferred=2 failed=1 seconds=60.125
//
// # The command of consume
//
// It is a command line for sh -c, run once per message in a process group of its
// own. It finds the message's body on its standard input, and in its
// environment:
//
//	DEDUP_TOPIC            topic, without namespace
//	DEDUP_TAG              tag; may be empty
//	DEDUP_KEY              business key; over 255 bytes its SHA-256, as in the store
//	DEDUP_MESSAGE_ID       message id, for logs: copies of one key have several
//	DEDUP_RECONSUME_TIMES  how often the broker has delivered the message before
//	DEDUP_ATTEMPT          which run of the key this is, from 1; above 1 an earlier
//	                       one did not complete; 0 without a claim (outage: run)
//
// and otherwise dedupctl's own environment without the variables that begin
// with DEDUP_, which hold its settings. Its output is dedupctl's own.
//
// It says by its exit code what became of the message: 0 done, 65 permanent
// failure (the key is parked, the message goes to the dead-letter queue),
// anything else: to be run again later.
//
// Its whole process group gets SIGTERM, and SIGKILL after -kill-after, when its
// claim is lost, when it takes longer than max_consume, and when a drain runs out
// of time. The group is killed at once when dedupctl itself dies, however it
// dies, and what a command leaves behind in its group is killed when it exits. Two
// things are not found again: a process that leaves the group, as setsid does,
// and one that resists SIGTERM while dedupctl dies within -kill-after.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
