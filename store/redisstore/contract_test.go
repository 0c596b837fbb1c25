package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestContract(t *testing.T) {
	contract(t, shared(t), func(t testing.TB, addr string) redis.UniversalClient { return connect(t, addr, nil) })
}

func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	join := func(t testing.TB, addrs string) redis.UniversalClient { return connectCluster(t, addrs, nil) }
	contract(t, join(t, storetest.Server(t, "DEDUP_TEST_REDIS_CLUSTER")), join)
}

func TestContractUnderSentinels(t *testing.T) {
	t.Parallel()
	master := storetest.Server(t, "DEDUP_TEST_REDIS_MASTER")
	ask := func(t testing.TB, addrs string) redis.UniversalClient { return connectSentinels(t, addrs, master) }
	contract(t, ask(t, storetest.Server(t, "DEDUP_TEST_REDIS_SENTINEL")), ask)
}

// contract judges a store on servers that nobody breaks. connect makes such a
// client of another address.
func contract(t *testing.T, client redis.UniversalClient, connect func(testing.TB, string) redis.UniversalClient) {
	t.Helper()
	s, h := open(t, client), hooks(client)
	if findings, err := s.Inspect(within(t, ample)); err != nil || len(findings) != 0 {
		t.Errorf("inspect: got %v, %v, want nothing", findings, err)
	}
	h.Silent = func(t testing.TB) store.Store {
		hole := testserver.NewProxy(t, "127.0.0.1:1")
		hole.BlackHole(true)
		return open(t, connect(t, hole.Addr()))
	}
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: h})
}

func TestContractByScriptsAlone(t *testing.T) {
	t.Parallel()
	client := shared(t)
	beforeSeven(client)
	s := open(t, client)
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: hooks(client)})
}

func TestContractWithoutPipelining(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s, err := redisstore.New(client, redisstore.Options{Prefix: prefix, NoPipelining: true})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: hooks(client)})
}

// hooks reach behind a store with the prefix of these tests.
func hooks(client redis.UniversalClient) storetest.Hooks {
	return storetest.Hooks{
		Corrupt: func(ctx context.Context, _ store.Store, k store.Key) error {
			return client.Set(ctx, recordName(k), "CONSUMED", time.Minute).Err()
		},
		WrongType: func(ctx context.Context, _ store.Store, k store.Key) error {
			if err := client.Del(ctx, recordName(k)).Err(); err != nil {
				return err
			}
			return client.RPush(ctx, recordName(k), "an entry").Err()
		},
		Persist: func(ctx context.Context, _ store.Store, k store.Key) error {
			return client.Persist(ctx, recordName(k)).Err()
		},
		HasExpiry: func(ctx context.Context, _ store.Store, k store.Key) (bool, error) {
			left, err := client.PTTL(ctx, recordName(k)).Result()
			return left >= 0, err
		},
	}
}
