package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// quiet drops what go-redis prints about servers that tests have broken.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	code := m.Run()
	if err := clean(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = 1
	}
	os.Exit(code)
}

// clean removes what these tests have left on the shared servers.
func clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	var errs []error
	for _, client := range sharedServers() {
		if cluster, ok := client.(*redis.ClusterClient); ok {
			errs = append(errs, cluster.ForEachMaster(ctx, cleanServer))
		} else {
			errs = append(errs, cleanServer(ctx, client.(*redis.Client)))
		}
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// sharedServers are clients of those that there are.
func sharedServers() (all []redis.UniversalClient) {
	for env, o := range map[string]*redis.UniversalOptions{
		"DEDUP_TEST_REDIS":          {},
		"DEDUP_TEST_REDIS_CLUSTER":  {IsClusterMode: true},
		"DEDUP_TEST_REDIS_SENTINEL": {MasterName: os.Getenv("DEDUP_TEST_REDIS_MASTER")},
	} {
		if addrs := os.Getenv(env); addrs != "" {
			o.Addrs = strings.Split(addrs, ",")
			all = append(all, redis.NewUniversalClient(o))
		}
	}
	return all
}

func cleanServer(ctx context.Context, client *redis.Client) error {
	names := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for names.Next(ctx) {
		if err := client.Del(ctx, names.Val()).Err(); err != nil {
			return err
		}
	}
	return names.Err()
}

// prefix keeps what one run of these tests writes apart from everything else.
var prefix = "redisstore-test-" + store.NewToken().String() + ":"

// connect returns a client as the package comment recommends it, changed by
// change if that is not nil.
func connect(t testing.TB, addr string, change func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: time.Second}
	if change != nil {
		change(o)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// shared returns a client of the test server.
func shared(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, storetest.Server(t, "DEDUP_TEST_REDIS"), nil)
}

// open returns a Store over client with the prefix of these tests.
func open(t testing.TB, client redis.UniversalClient) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, redisstore.Options{Prefix: prefix})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

// within is a context for calls that must not hang.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// ample is a deadline that a call which works never needs.
const ample = 30 * time.Second

// newKey is a key that no other test uses.
func newKey() store.Key {
	return store.Key{Application: "app", Topic: "orders", Tag: "paid", ID: store.NewToken().String()}
}

// recordName is the documented name of the record of k.
func recordName(k store.Key) string { return prefix + "{" + k.String() + "}" }

// request is a claim that does not lapse during a test.
func request(k store.Key, t store.Token) store.ClaimRequest {
	return store.ClaimRequest{Key: k, Token: t, Lease: time.Minute, Horizon: time.Hour}
}

// claims wants a claim to be granted as the given attempt.
func claims(t *testing.T, s *redisstore.Store, r store.ClaimRequest, attempt int) {
	t.Helper()
	v, err := s.Claim(within(t, ample), r)
	if err != nil || v.State != store.Claimed || v.Attempt != attempt {
		t.Fatalf("claim: got %+v, %v, want claimed attempt %d", v, err, attempt)
	}
}

// answers wants a claim to be answered with a state other than Claimed.
func answers(t *testing.T, s *redisstore.Store, k store.Key, want store.State) store.Verdict {
	t.Helper()
	v, err := s.Claim(within(t, ample), request(k, store.NewToken()))
	if err != nil || v.State != want {
		t.Fatalf("claim: got %+v, %v, want %v", v, err, want)
	}
	return v
}

// completes wants a complete to be answered with want.
func completes(t *testing.T, s *redisstore.Store, k store.Key, token store.Token, want store.Completion) {
	t.Helper()
	got, err := s.Complete(within(t, ample), k, token, time.Hour)
	if err != nil || got != want {
		t.Fatalf("complete: got %v, %v, want %v", got, err, want)
	}
}

func newKeys(n int) []store.Key {
	var keys []store.Key
	for range n {
		keys = append(keys, newKey())
	}
	return keys
}
