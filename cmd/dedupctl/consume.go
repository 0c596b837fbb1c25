package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// recordTime is how long the end of a killed command may take to be recorded
// before the program gives up on it.
const recordTime = 5 * time.Second

func (t *tool) consume(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("consume", flag.ContinueOnError)
	file := f.String("config", "", "configuration `FILE`")
	line := f.String("exec", "", "`COMMAND` for sh -c, run once per message; body on its standard input,\n"+
		"DEDUP_TOPIC, _TAG, _KEY, _MESSAGE_ID, _RECONSUME_TIMES and _ATTEMPT in its environment;\n"+
		"exit code 0: done, 65: never again, any other: run again later")
	grace := f.Duration("kill-after", 5*time.Second, "how long after SIGTERM a command is killed")
	if err := t.parse(f, args, "config", "exec"); err != nil {
		return err
	}
	if *grace < 0 {
		return usageError("consume: -kill-after is below zero")
	}
	c, err := t.load(*file)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings() {
		t.log.Warn("dedupctl: " + w.Error())
	}
	cmd, err := newCommand(*line, *grace, t)
	if err != nil {
		return err
	}
	defer cmd.close()
	err = t.serve(ctx, c, cmd)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // told to stop while it was starting
	}
	return err
}

// serve consumes until ctx ends, then drains.
func (t *tool) serve(ctx context.Context, c config.Config, cmd *command) (err error) {
	records, closeRecords, err := open.Store(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRecords()) }()
	if err := open.NameServers(ctx, c); err != nil {
		return err
	}
	mover, err := open.Producer(c)
	if err == nil {
		err = mover.Start()
	}
	if err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	defer func() { err = errors.Join(err, mover.Shutdown()) }()
	counts := newTally()
	l, err := open.Listener(c, records, open.Options{
		Producer: mover,
		Guard:    dedup.Options{Observer: counts, Logger: t.log},
	})
	if err != nil {
		return err
	}
	defer t.watch(ctx, c, l)()
	p, err := t.start(ctx, c, l, counts.handler(cmd.handle))
	if err != nil {
		return err
	}
	counts.began = time.Now()
	<-ctx.Done()
	return t.drain(c, l, p, counts, cmd.grace)
}

// watch looks for lost records until the result is called.
func (t *tool) watch(ctx context.Context, c config.Config, l *listener.DedupConcurrentListener) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := open.Watch(ctx, c, l); err != nil {
			t.log.Error("dedupctl: " + err.Error())
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// start returns the running consumer.
func (t *tool) start(
	ctx context.Context, c config.Config, l *listener.DedupConcurrentListener, h listener.Handler,
) (rocketmq.PushConsumer, error) {
	p, err := open.PushConsumer(c)
	if err != nil {
		return nil, err
	}
	if err := open.Subscribe(c, l, p, h); err != nil {
		return nil, err
	}
	if err := open.RetryTopic(ctx, c); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		t.log.Warn("dedupctl: no retry topic yet, so the first retry of a new group takes 40 s: " + err.Error())
	}
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	var topics []string
	for _, topic := range c.Topics {
		topics = append(topics, topic.Name)
	}
	t.log.Info("dedupctl: consuming", "group", c.RocketMQ.Group, "topics", strings.Join(topics, ","))
	return p, nil
}

// drain lets the running commands end. Those that do not are being killed when
// Shutdown returns, and their claims released: it waits for that too, so that
// others may run them at once. It logs the summary.
func (t *tool) drain(
	c config.Config, l *listener.DedupConcurrentListener, p listener.Stopper, counts *tally, grace time.Duration,
) error {
	t.log.Info("dedupctl: draining", "limit", c.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
	defer cancel()
	err := l.Shutdown(ctx, p)
	if errors.Is(err, listener.ErrDraining) {
		ending, cancel := context.WithTimeout(context.Background(), grace+recordTime)
		defer cancel()
		counts.wait(ending)
	}
	logger(t.stderr, c.Log.Format, slog.LevelInfo).Info("dedupctl: stopped", counts.summary()...) // at any log.level
	return err
}
