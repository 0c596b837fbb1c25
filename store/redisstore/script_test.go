package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestScriptsAreSentAgainAfterAFlush(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s, ctx := open(t, client), within(t, ample)
	flush := func() {
		t.Helper()
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := store.NewToken(), store.NewToken()
	keys := []store.Key{newKey(), newKey(), newKey(), newKey()}
	var renewals []store.Claim
	for _, k := range keys {
		flush()
		claims(t, s, request(k, a), 1)
		renewals = append(renewals, store.Claim{Key: k, Token: a})
	}
	renewals[2].Token = b
	flush()
	for i, err := range s.Renew(ctx, renewals) {
		if i == 2 && !errors.Is(err, store.ErrNotOwner) || i != 2 && err != nil {
			t.Errorf("renewal %d: got %v", i, err)
		}
	}
	flush()
	if n, err := s.Fence(ctx, keys[0], a); n <= 0 || err != nil {
		t.Errorf("fence: got %d, %v", n, err)
	}
	flush()
	completes(t, s, keys[0], a, store.Completed)
	flush()
	if err := s.Release(ctx, keys[1], a, true); err != nil {
		t.Errorf("release: %v", err)
	}
	flush()
	if err := s.Park(ctx, keys[2], a, ample); err != nil {
		t.Errorf("park: %v", err)
	}
	answers(t, s, keys[0], store.Done)
	claims(t, s, request(keys[1], b), 2)
	answers(t, s, keys[2], store.Parked)
}

// flusher empties the script cache between the commands of a pipeline.
type flusher struct{ around }

func (flusher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 1 && cmds[0].Name() == "evalsha" {
			flush := redis.NewStatusCmd(ctx, "script", "flush")
			cmds = append([]redis.Cmder{cmds[0], flush}, cmds[1:]...)
		}
		return next(ctx, cmds)
	}
}

func TestAFlushWithinAPipelineLosesNothing(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s, a := open(t, client), store.NewToken()
	var renewals []store.Claim
	for range 5 {
		k := newKey()
		claims(t, s, request(k, a), 1)
		renewals = append(renewals, store.Claim{Key: k, Token: a})
	}
	if err := errors.Join(s.Renew(within(t, ample), renewals)...); err != nil { // the server has the script now
		t.Fatal(err)
	}
	client.AddHook(flusher{around{func(error) {}}})
	if err := errors.Join(s.Renew(within(t, ample), renewals)...); err != nil {
		t.Errorf("renew: %v", err)
	}
}

// older answers scripts that begin with flags as Redis 6.2 does, and counts the
// others by kind.
type older struct {
	around
	mu      sync.Mutex
	flagged int // guarded by mu
}

func (o *older) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if len(cmd.Args()) > 1 {
			if source, _ := cmd.Args()[1].(string); cmd.Name() == "eval" && strings.HasPrefix(source, "#!") {
				o.mu.Lock()
				o.flagged++
				o.mu.Unlock()
				return answer("ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'")
			}
		}
		return next(ctx, cmd)
	}
}

func TestAServerWithoutScriptFlagsGetsPlainScripts(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	o := &older{around: around{func(error) {}}}
	client.AddHook(o)
	s, a := open(t, client), store.NewToken()

	keys := make([]store.Key, 20)
	var all sync.WaitGroup
	for i := range keys {
		keys[i] = newKey()
		claims(t, s, request(keys[i], a), 1)
	}
	for _, k := range keys { // all at once: each may be the one to find out
		all.Go(func() {
			if err := s.Release(within(t, ample), k, a, true); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	all.Wait()
	before := o.flagged
	k := newKey()
	claims(t, s, request(k, a), 1)
	if err := s.Release(within(t, ample), k, a, true); err != nil {
		t.Errorf("release: %v", err)
	}
	if o.flagged != before {
		t.Errorf("%d scripts with flags after the server had refused them", o.flagged-before)
	}
	findings, err := s.Inspect(within(t, ample))
	if err != nil || !hasFinding(findings, "redis_version", true) {
		t.Errorf("inspect: got %v, %v, want advice about the version", findings, err)
	}
}
