package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// compatExceptions are the cases of the contract that records shared with the
// original cannot pass, and why.
var compatExceptions = map[string]string{
	"separators inside a part do not move the border between parts": "the original's names escape nothing",
}

// wholeSeconds are the cases in which a keep must end, which lasts whole seconds
// as the original's.
var wholeSeconds = []string{
	"done ends with its keep", "a batch remembers each completion for its own keep",
	"get finds no record where there is none, or only an expired one",
	"there is nothing to forget where there is no record, or only an expired one",
}

func TestContractOfJavaCompatible(t *testing.T) {
	t.Parallel()
	client := private(t)
	s, h := openCompat(t, client), compatHooks(client)
	h.Silent = func(t testing.TB) store.Store {
		hole := testserver.NewProxy(t, client.Options().Addr)
		hole.BlackHole(true)
		return unlisted{Store: openCompat(t, connect(t, hole.Addr(), nil))}
	}
	judgeCompat(t, storetest.Harness{New: func(testing.TB) store.Store { return unlisted{Store: s} }, Hooks: h})
}

func TestContractOfJavaCompatibleOnACluster(t *testing.T) {
	t.Parallel()
	client := connectCluster(t, testserver.Cluster(t, 2, 0).Addrs()[0], nil)
	s := openCompat(t, client)
	judgeCompat(t, storetest.Harness{New: func(testing.TB) store.Store { return unlisted{Store: s} }, Hooks: compatHooks(client)})
}

// unlisted is a Store without Scan, which refuses to list records that are shared
// with the original.
type unlisted struct {
	*redisstore.Store
	Scan struct{}
}

// judgeCompat is storetest.Run but for the stated exceptions. An exception must
// fail, so that the list tells the truth.
func judgeCompat(t *testing.T, h storetest.Harness) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			h := h
			if slices.Contains(wholeSeconds, c.Name) {
				h.Unit = time.Second
			}
			err := c.Judge(t, h)
			var skip *storetest.SkipError
			switch why, excepted := compatExceptions[c.Name]; {
			case errors.As(err, &skip):
				t.Skip(skip)
			case excepted && err == nil:
				t.Errorf("passed, but is listed as an exception: %s", why)
			case !excepted && err != nil:
				t.Errorf("%v\nwhy it matters: %s", err, c.Why)
			}
		})
	}
}

// compatHooks reach behind a store that shares its records with the original.
func compatHooks(client redis.UniversalClient) storetest.Hooks {
	return storetest.Hooks{
		Corrupt: func(ctx context.Context, _ store.Store, k store.Key) error {
			return client.Set(ctx, compatName(k), "GARBAGE", time.Minute).Err()
		},
		WrongType: func(ctx context.Context, _ store.Store, k store.Key) error {
			if err := client.Del(ctx, compatName(k)).Err(); err != nil {
				return err
			}
			return client.RPush(ctx, compatName(k), "an entry").Err()
		},
		Persist: func(ctx context.Context, _ store.Store, k store.Key) error {
			return errors.Join(client.Persist(ctx, compatName(k)).Err(), client.Persist(ctx, companionName(k)).Err())
		},
		HasExpiry: func(ctx context.Context, _ store.Store, k store.Key) (bool, error) {
			main, err := client.PTTL(ctx, compatName(k)).Result()
			if err != nil {
				return false, err
			}
			companion, err := client.PTTL(ctx, companionName(k)).Result()
			return main != -1 && companion != -1 && main+companion > -4, err
		},
	}
}
