package redisstore_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// noDial is the part of a go-redis hook that does nothing.
type noDial struct{}

func (noDial) DialHook(next redis.DialHook) redis.DialHook { return next }

// redirections is a hook of the nodes of a cluster client. It counts what they
// send elsewhere.
type redirections struct {
	noDial
	moved, asked atomic.Int64
}

func (r *redirections) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd) // cmd does not have it yet
		r.note(err)
		return err
	}
}

func (r *redirections) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			r.note(cmd.Err())
		}
		return err
	}
}

func (r *redirections) note(err error) {
	switch {
	case redis.HasErrorPrefix(err, "MOVED "):
		r.moved.Add(1)
	case redis.HasErrorPrefix(err, "ASK "):
		r.asked.Add(1)
	}
}

// refusing is a hook of the nodes of a cluster client. It answers what is about
// a record with err, as often as left says.
type refusing struct {
	noDial
	err  error
	left atomic.Int32
}

func (r *refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !r.refuses(cmd) {
			return next(ctx, cmd)
		}
		cmd.SetErr(r.err)
		return r.err
	}
}

func (r *refusing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !slices.ContainsFunc(cmds, r.refuses) {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.SetErr(r.err)
		}
		return r.err
	}
}

func (r *refusing) refuses(cmd redis.Cmder) bool {
	ours := slices.ContainsFunc(cmd.Args(), func(arg any) bool {
		name, _ := arg.(string)
		return strings.HasPrefix(name, prefix)
	})
	return ours && r.left.Add(-1) >= 0
}
