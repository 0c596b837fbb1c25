package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// contendVerb makes this program one contender of a run; consume starts it so.
const contendVerb = "contend"

// contend consumes the topic of the stage in its environment and prints a report.
func contend(ctx context.Context, out, log io.Writer) int {
	s, err := stageOf(os.Getenv)
	if err != nil {
		fmt.Fprintf(log, "dedupbench: %s is not for use by hand: %v\n", contendVerb, err)
		return 2
	}
	listener.LogTo(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	r, err := perform(ctx, s)
	if err == nil {
		err = json.NewEncoder(out).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(log, "dedupbench:", err)
		return 1
	}
	return 0
}

// perform consumes all messages of the stage.
func perform(ctx context.Context, s stage) (r report, err error) {
	t, probe := newTally(s), new(probe)
	cb, closeStore, err := enter(ctx, s, t, probe)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	c, err := newConsumer(s)
	if err == nil {
		err = c.Subscribe(s.Topic, consumer.MessageSelector{}, t.around(cb, probe.now))
	}
	if err != nil {
		return r, fmt.Errorf("consumer: %w", err)
	}
	stop, err := profile(s.Profile)
	if err != nil {
		return r, err
	}
	if err := c.Start(); err != nil {
		return r, fmt.Errorf("consumer: %w", err)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		err = fmt.Errorf("%d messages were not acknowledged: %w", t.left.Load(), ctx.Err())
	}
	err = errors.Join(err, stop(), c.Shutdown())
	if n := t.foreign.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d messages in %s are none of ours", n, s.Topic))
	}
	if err != nil {
		return r, err
	}
	return t.report(), nil
}

func newConsumer(s stage) (rocketmq.PushConsumer, error) {
	return rocketmq.NewPushConsumer(
		consumer.WithGroupName(s.Group), consumer.WithInstance(s.Group),
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer})),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(s.Batch), consumer.WithPullBatchSize(int32(max(32, s.Batch))),
		consumer.WithConsumeGoroutineNums(s.Callbacks),
	)
}

// probe reads the clocks of the window.
type probe struct{ trips trips }

func (p *probe) now() mark { return mark{time.Now(), ownCPU(), p.trips.count.Load()} }

// profile writes a CPU profile until it is stopped; without a file it does nothing.
func profile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
