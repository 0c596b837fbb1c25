package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// turn is one run of one contender, with a group and records of its own.
func (c *contest) turn(ctx context.Context, cell cell, t topic, who contender, n int) sample {
	group := c.id + "-" + who.Name + "-" + store.NewToken().String()[:8]
	s := stage{
		NameServer: c.NameServer, Topic: t.Name, Group: group, Messages: t.Messages, Distinct: t.Distinct,
		Redis: c.Redis, Prefix: group + ":", MySQL: c.MySQL, Table: "dedupbench_" + store.NewToken().String(),
		Batch: cell.Batch, Callbacks: cell.Callbacks, Work: cell.Work, Rate: cell.Rate, Contender: who.Name, Store: c.Store,
	}
	if c.Profiles != "" && n < c.Warmups {
		s.Profile = filepath.Join(c.Profiles, cell.file()+"-"+who.Name+".pprof")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := listener.EnsureRetryTopic(ctx, group, []string{c.NameServer}, listener.TopicOptions{})
	if err != nil {
		return sample{Invalid: err.Error()}
	}
	defer c.broker.remove(retryTopic(group))
	defer c.server.forget(s)

	before := c.server.cpu(ctx)
	began := time.Now()
	r, cpu, err := start(ctx, c.self, who, s)
	took := judge(who, t, r, time.Since(began), cpu)
	if after := c.server.cpu(ctx); before != nil && after != nil {
		micros := (*after - *before) * 1e6 / float64(t.Messages)
		took.Server = &micros
	}
	if err != nil {
		took.Invalid = err.Error()
	}
	return took
}

// patience is how long an ended contender's output is waited for, which what it
// started may hold open.
const patience = 10 * time.Second

// start runs a contender to its end and returns its report and the processor
// time of its process.
func start(ctx context.Context, self string, who contender, s stage) (report, time.Duration, error) {
	cmd := exec.CommandContext(ctx, self, contendVerb)
	if who.Command != "" {
		cmd = exec.CommandContext(ctx, "sh", "-c", who.Command)
	}
	isolate(cmd)
	cmd.WaitDelay = patience
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	cmd.Env = append(os.Environ(), s.env()...)
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return report{}, 0, fmt.Errorf("%w%s", err, tail(log.String()))
	}
	r, err := reportIn(out.Bytes())
	return r, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// tail is the end of what a program said as the end of a line about it.
func tail(text string) string {
	const most = 400
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return ": " + text
}
