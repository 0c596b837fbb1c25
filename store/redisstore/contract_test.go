package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestContract(t *testing.T) {
	client := shared(t)
	s, h := open(t, client), hooks(client)
	h.Silent = func(t testing.TB) store.Store {
		hole := testserver.NewProxy(t, client.Options().Addr)
		hole.BlackHole(true)
		return open(t, connect(t, hole.Addr(), nil))
	}
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: h})
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
