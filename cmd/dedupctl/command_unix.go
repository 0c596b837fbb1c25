//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// guarded runs the command line $1 in place of itself, with a guard beside it:
// a shell that reads from a pipe which nobody writes to and only dedupctl holds
// open. When dedupctl dies the read ends and the guard kills its own process
// group, which is that of the command. SIGTERM to the group ends the guard, so that
// the group is empty when all of the command has obeyed.
//
// The guard also keeps the group's id from being given to others between the end
// of the command and the last kill.
const guarded = `{ read -r _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 & exec ` + shell + ` -c "$1" 3<&-`

const shell = "/bin/sh"

// leftoverPoll is how often a group that was told to end is looked at.
const leftoverPoll = 20 * time.Millisecond

// command is what runs for every message. It is safe for concurrent use.
type command struct {
	line           string
	grace          time.Duration
	stdout, stderr io.Writer
	env            []string
	lifeline, ours *os.File // the ends of the guards' pipe
}

func newCommand(line string, grace time.Duration, t *tool) (*command, error) {
	if _, err := exec.LookPath(shell); err != nil {
		return nil, fmt.Errorf("consume: %w", err) // better than with every message
	}
	lifeline, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &command{
		line: line, grace: grace, stdout: t.stdout, stderr: t.stderr, env: inherited(t.env),
		lifeline: lifeline, ours: ours,
	}, nil
}

// close ends the guards, and with them every command that still runs.
func (c *command) close() {
	c.ours.Close()
	c.lifeline.Close()
}

// run returns how the command ended. Nothing of its process group is left then.
func (c *command) run(ctx context.Context, env []string, body []byte) (*os.ProcessState, error) {
	cmd := exec.Command(shell, "-c", guarded, "sh", c.line)
	cmd.Env = env
	cmd.Stdin = bytes.NewReader(body)
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	cmd.ExtraFiles = []*os.File{c.lifeline}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for a leftover that holds the pipe of a long body
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := group(cmd.Process.Pid)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells more
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		g.terminate(c.grace, ended)
	}
	g.kill()
	<-ended
	g.reap()
	return cmd.ProcessState, nil
}

// group is a process group, by its leader's id.
type group int

// terminate asks all of g to end and returns when they have, or after grace.
func (g group) terminate(grace time.Duration, leaderEnded <-chan struct{}) {
	g.signal(syscall.SIGTERM)
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-leaderEnded:
	case <-limit.C:
		return
	}
	poll := time.NewTicker(leftoverPoll)
	defer poll.Stop()
	for g.alive() {
		select {
		case <-poll.C:
		case <-limit.C:
			return
		}
	}
}

func (g group) kill() { g.signal(syscall.SIGKILL) }

func (g group) alive() bool { return syscall.Kill(-int(g), 0) == nil }

// signal may find nobody: they ended by themselves.
func (g group) signal(s syscall.Signal) { _ = syscall.Kill(-int(g), s) }

// reap removes what is left of the killed. They are ours only if dedupctl is the
// first process of a container.
func (g group) reap() {
	for os.Getpid() == 1 {
		if _, err := syscall.Wait4(-int(g), nil, 0, nil); err != nil && err != syscall.EINTR {
			return // no more of them
		}
	}
}
