package listener_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// onRedis is a rig whose records are in server.
func onRedis(t *testing.T, server *testserver.RedisServer, o listener.Options) *rig {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Second, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	s, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newRigOn(t, o, func(*memstore.Store) store.Store { return s })
}

// They are not deferred, which they were after the hold limit. How soon they resume
// is tested where time does not depend on the machine.
func TestRedisHeldMessagesResumeWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	for name, ways := range map[string]struct{ lose, find func(*testserver.RedisServer) }{
		"killed": {(*testserver.RedisServer).Kill, (*testserver.RedisServer).Restart},
		"frozen": {(*testserver.RedisServer).Pause, (*testserver.RedisServer).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
			r := onRedis(t, server, listener.Options{})
			const n = 500
			var ran atomic.Int32
			cb := r.Each(func(context.Context, *primitive.MessageExt) error { ran.Add(1); return nil })
			want(t, cb, success, 0, orders("before")...)
			ways.lose(server)
			var answered sync.WaitGroup
			for i := range n {
				answered.Go(func() { want(t, cb, success, 0, orders(strconv.Itoa(i))...) })
			}
			eventually(t, "all are held", func() bool { return r.Stats().Held == n })
			ways.find(server)
			found := time.Now()
			answered.Wait()
			t.Logf("after %v", time.Since(found).Round(time.Millisecond))
			if ran.Load() != n+1 {
				t.Errorf("%d of %d have run", ran.Load()-1, n)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if i := slices.IndexFunc(r.events[1:], func(e dedup.Event) bool { return e.Attempt != 1 }); i >= 0 {
				t.Errorf("got %+v, want attempt 1: nothing had run", r.events[1+i])
			}
		})
	}
}

func TestRedisADrainDuringAnOutageEndsInTime(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	r := onRedis(t, server, listener.Options{})
	started := make(chan struct{})
	finish := make(chan struct{})
	cb := r.Each(func(context.Context, *primitive.MessageExt) error {
		close(started)
		<-finish
		return errBoom
	})
	var answered sync.WaitGroup
	answered.Go(func() { consume(t, cb, orders("running")...) })
	<-started
	server.Pause()
	answered.Go(func() { consume(t, cb, orders("held")...) })
	eventually(t, "one is held", func() bool { return r.Stats().Held == 1 })
	began := time.Now()
	const limit = 3 * time.Second
	err := shutdownAfter(r, limit, stopFunc(func() { close(finish) }))
	if took := time.Since(began); took > 10*limit || !errors.Is(err, listener.ErrDraining) {
		t.Errorf("took %v, %v; want the limit, because one callback would not stop", took, err)
	}
	server.Resume()
	answered.Wait()
}

func TestRedisASuccessIsRecordedWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := onRedis(t, server, listener.Options{BatchSize: 8, Policy: brief()})
	h := r.handler()
	var lose sync.Once
	cb := r.Each(func(ctx context.Context, m *primitive.MessageExt) error {
		lose.Do(server.Kill)
		return h(ctx, m)
	})
	want(t, cb, success, 0, orders("1", "2")...)
	if got := r.Stats().Journal; got != 2 {
		t.Errorf("journal: got %d, want 2", got)
	}
	want(t, cb, success, 0, orders("1", "2")...)
	server.Restart()
	eventually(t, "both are recorded", func() bool { return r.Stats().Journal == 0 })
	if err := shutdownAfter(r, time.Minute, &stopper{}); err != nil {
		t.Errorf("shutdown: got %v, want nothing left", err)
	}
	r.wantRan(t, "1", "2")
	successor := onRedis(t, server, listener.Options{BatchSize: 8})
	want(t, successor.Each(successor.handler()), success, 0, orders("2", "1")...)
	successor.wantRan(t)
}
