package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// exchange sends the calls in one round trip: one alone together with those of
// other callers, several in a pipeline of their own.
func (s *Store) exchange(ctx context.Context, calls []*call, verb string) {
	if len(calls) == 1 {
		s.single(ctx, calls[0], verb)
		return
	}
	cmds := make([]*once, len(calls))
	for i, c := range calls {
		c.cmd = s.command(ctx, c, verb)
		cmds[i] = &c.cmd
	}
	s.execute(ctx, cmds)
	for _, c := range calls {
		s.read(c, c.cmd)
	}
}

// execute executes commands in one round trip.
func (s *Store) execute(ctx context.Context, cmds []*once) {
	if len(cmds) == 1 {
		_ = s.client.Process(ctx, cmds[0]) // the command has the error, too
		return
	}
	pipe := s.client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
}

// single makes a call whose command nobody but go-redis touches any more when
// the caller has left it behind.
func (s *Store) single(ctx context.Context, c *call, verb string) {
	cmd := s.command(ctx, c, verb)
	if s.options.NoPipelining {
		_ = s.client.Process(ctx, cmd) // the command has the error, too
		s.read(c, cmd)
		return
	}
	behind, err := s.line(ctx, c.name).Do(ctx, &cmd)
	switch {
	case err == nil:
		s.read(c, cmd)
	case behind == nil:
		c.err = notSent{err}
	default:
		c.err = err
		if c.script == claimScript {
			s.leave(owner{c.name, c.token}, behind)
		}
	}
}

// read takes the answer from a command that has been executed.
func (s *Store) read(c *call, cmd once) {
	c.open = false
	switch cmd := cmd.Cmder.(type) {
	case *redis.IntSliceCmd:
		c.answer, c.err = cmd.Result()
	case *redis.StringCmd:
		met, err := cmd.Result()
		s.readFast(c, met, err)
	}
}

// once is a command that go-redis sends once. It still follows redirections of
// a cluster, which mean that the command was not run.
type once struct{ redis.Cmder }

// NoRetry is asked by go-redis.
func (once) NoRetry() bool { return true }

func (s *Store) command(ctx context.Context, c *call, verb string) once {
	if c.set != nil {
		return once{redis.NewStringCmd(ctx, c.set...)}
	}
	script := c.script
	if s.compat {
		script = compatScripts[script]
	}
	if c.plain = s.noFlags.Load(); c.plain && script.plain != nil {
		script = script.plain
	}
	text := script.sha
	if verb == "eval" {
		text = script.source
	}
	args := append(make([]any, 0, 6+len(c.numbers)), verb, text, 1, c.name)
	if s.compat {
		args[2] = 2
		args = append(args, companion(c.name))
	}
	args = append(args, c.token)
	for _, n := range c.numbers[:script.takes] {
		args = append(args, n)
	}
	cmd := redis.NewIntSliceCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return once{cmd}
}
