package redisstore_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// meddler is a hook that may answer a command in the server's place.
type meddler struct {
	around
	answer func(redis.Cmder) (err error, answered bool)
}

func (m meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err, answered := m.answer(cmd); answered {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (m meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		passed := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool {
			err, answered := m.answer(cmd)
			if answered {
				cmd.SetErr(err)
			}
			return answered
		})
		if len(passed) == 0 {
			return nil
		}
		return next(ctx, passed)
	}
}

// isFastClaim tells SET with NX and GET from every other command.
func isFastClaim(cmd redis.Cmder) bool {
	return cmd.Name() == "set" && slices.Contains(cmd.Args(), any("nx"))
}

// beforeSeven has the server behind client refuse the fast path as one before
// Redis 7.0 does.
func beforeSeven(client redis.UniversalClient) {
	client.AddHook(meddler{answer: func(cmd redis.Cmder) (error, bool) {
		return answer("ERR syntax error"), isFastClaim(cmd)
	}})
}

// recorder notes the names of the commands on records.
type recorder struct {
	mu    sync.Mutex
	names []string // guarded by mu
}

func (r *recorder) hook() meddler {
	return meddler{answer: func(cmd redis.Cmder) (error, bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if onRecords(cmd) {
			r.names = append(r.names, cmd.Name())
		}
		return nil, false
	}}
}

// took returns the names noted since the last time.
func (r *recorder) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := strings.Join(r.names, " ")
	r.names = nil
	return names
}

func wantCommands(t *testing.T, r *recorder, what, want string) {
	t.Helper()
	if got := r.took(); got != want {
		t.Errorf("%s took the commands %q, want %q", what, got, want)
	}
}
