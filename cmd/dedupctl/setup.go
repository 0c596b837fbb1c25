package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
)

// validate is "config validate".
func (t *tool) validate(_ context.Context, args []string) error {
	if len(args) != 1 {
		return usageError("config validate: want one FILE")
	}
	c, err := config.Load(args[0])
	if err != nil {
		return err
	}
	for _, w := range c.Warnings() {
		fmt.Fprintln(t.stderr, "warning: "+w.Error())
	}
	_, err = fmt.Fprintln(t.stdout, "ok")
	return err
}

// load reads the configuration and begins to log as it says.
func (t *tool) load(file string) (config.Config, error) {
	c, err := config.Load(file)
	if err != nil {
		return c, err
	}
	level := levelOf(c.Log)
	t.log = logger(t.stderr, c.Log.Format, level)
	slog.SetDefault(t.log)
	// The clients tell every few seconds that all is well.
	clients := level
	if level == slog.LevelInfo {
		clients = slog.LevelWarn
	}
	open.LogTo(logger(t.stderr, c.Log.Format, clients))
	return c, nil
}

func levelOf(l config.Log) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(l.Level)) != nil {
		return slog.LevelInfo // validated: cannot happen
	}
	return level
}

func logger(w io.Writer, format string, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
