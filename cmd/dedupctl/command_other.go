//go:build !unix

package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// command needs process groups.
type command struct {
	grace time.Duration
	env   []string
}

var errUnix = errors.New("consume: commands can be run on Unix systems only")

func newCommand(string, time.Duration, *tool) (*command, error) { return nil, errUnix }

func (c *command) close() {}

func (c *command) run(context.Context, []string, []byte) (*os.ProcessState, error) {
	return nil, errUnix
}
