package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestKeysOfKilledConsumersComeToTheirEndInRedis(t *testing.T) {
	for name, addrs := range map[string]func(*testing.T) *redis.UniversalOptions{
		"a server": func(t *testing.T) *redis.UniversalOptions {
			return &redis.UniversalOptions{Addrs: []string{testserver.Redis(t).Addr()}}
		},
		"a cluster": func(t *testing.T) *redis.UniversalOptions {
			return &redis.UniversalOptions{Addrs: testserver.Cluster(t, 2, 0).Addrs()}
		},
		"a server under sentinels": func(t *testing.T) *redis.UniversalOptions {
			return &redis.UniversalOptions{Addrs: testserver.Sentinel(t).Addrs(), MasterName: testserver.MasterName}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := redisstore.New(connect(t, addrs(t)), redisstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			killed(t, s)
		})
	}
}

// What cannot be listed must not look like nothing to do.
func TestAPassOverRecordsOfTheOriginalInRedisFails(t *testing.T) {
	t.Parallel()
	client := connect(t, &redis.UniversalOptions{Addrs: []string{testserver.Redis(t).Addr()}})
	s, err := redisstore.NewJavaCompatible(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := reconciler(t, s, newWorld(), reconcile.Options{})
	if got, err := r.Pass(t.Context()); got.Failed != 1 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %+v, %v, want a failure that wraps ErrUnsupported", got, err)
	}
}

// connect returns a client as package redisstore recommends it.
func connect(t *testing.T, o *redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	o.ContextTimeoutEnabled, o.ReadTimeout = true, time.Second
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() }) // nothing is left to lose
	return client
}
