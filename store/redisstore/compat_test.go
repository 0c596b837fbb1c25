package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// openCompat returns a Store over client that shares its records with the
// original.
func openCompat(t testing.TB, client redis.UniversalClient) *redisstore.Store {
	t.Helper()
	s, err := redisstore.NewJavaCompatible(client, redisstore.Options{})
	if err != nil {
		t.Fatalf("NewJavaCompatible: %v", err)
	}
	return s
}

// private returns a client of a server that only this test uses: the names of
// these records are not ours to choose.
func private(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	return connect(t, testserver.Redis(t, args...).Addr(), nil)
}

// original is what a node of the Java original sends, command by command.
type original struct {
	client    redis.UniversalClient
	expire    time.Duration // of its claims; 1 minute by default
	retention time.Duration // of done; 1440 minutes by default
}

func newOriginal(client redis.UniversalClient) original {
	return original{client, time.Minute, 24 * time.Hour}
}

// claim is the first command of a delivery. It reports whether the key was free.
func (o original) claim(ctx context.Context, name string) (bool, error) {
	err := o.client.Do(ctx, "SET", name, "CONSUMING", "PX", o.expire.Milliseconds(), "NX").Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// look is the second command, when the key was not free.
func (o original) look(ctx context.Context, name string) (string, error) {
	word, err := o.client.Do(ctx, "GET", name).Text()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return word, err
}

func (o original) succeeded(ctx context.Context, name string) error {
	return o.client.Do(ctx, "SETEX", name, int64(o.retention/time.Minute)*60, "CONSUMED").Err()
}

func (o original) failed(ctx context.Context, name string) error {
	return o.client.Do(ctx, "DEL", name).Err()
}

// What the original does with a message.
const (
	runs      = "runs it"
	skips     = "skips it"
	sendsBack = "sends it back"
)

// meets is what the original does with a message whose record has that name. It
// leaves the record as the callback would find it.
func (o original) meets(t testing.TB, name string) string {
	t.Helper()
	free, err := o.claim(within(t, ample), name)
	if err != nil {
		t.Fatal(err)
	}
	if free {
		return runs
	}
	word, err := o.look(within(t, ample), name)
	if err != nil {
		t.Fatal(err)
	}
	switch word {
	case "CONSUMING":
		return sendsBack
	case "CONSUMED":
		return skips
	}
	return runs // without a claim
}

// record is one key of a server: its value and its remaining life.
type record struct {
	value string
	left  time.Duration
}

// dump is everything on the server, companions apart from the rest.
func dump(t testing.TB, client *redis.Client) (mains, companions map[string]record) {
	t.Helper()
	ctx := within(t, ample)
	mains, companions = map[string]record{}, map[string]record{}
	for _, name := range client.Keys(ctx, "*").Val() {
		value, err := client.Get(ctx, name).Result()
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		into := mains
		if strings.HasPrefix(name, "{") {
			into = companions
		}
		into[name] = record{value, client.PTTL(ctx, name).Val()}
	}
	return mains, companions
}

// wantMain wants the key called name to have that value, "" for none, and to
// live for just below d.
func wantMain(t testing.TB, client redis.UniversalClient, name, value string, d time.Duration) {
	t.Helper()
	ctx := within(t, ample)
	got := client.Get(ctx, name).Val()
	if left := client.PTTL(ctx, name).Val(); got != value || value != "" && (left > d || left < d-10*time.Second) {
		t.Errorf("%q: got %q for %v, want %q for %v", name, got, left, value, d)
	}
}

// wantPair wants both keys of the record of k to be so.
func wantPair(t testing.TB, client redis.UniversalClient, k store.Key, main, companion record) {
	t.Helper()
	wantMain(t, client, compatName(k), main.value, main.left)
	wantMain(t, client, companionName(k), companion.value, companion.left)
}

// wantBusy wants a claim to be refused for just below d.
func wantBusy(t testing.TB, s *redisstore.Store, k store.Key, token store.Token, d time.Duration) {
	t.Helper()
	v, err := s.Claim(within(t, ample), request(k, token))
	if v.State != store.Busy || v.Left > d || v.Left < d-10*time.Second || v.Rearmed || err != nil {
		t.Errorf("claim: got %+v, %v, want busy for %v", v, err, d)
	}
}

// compatName is the original's name of the record of k.
func compatName(k store.Key) string {
	if k.Tag == "" {
		return "MSGDEDUP:" + k.Application + ":" + k.Topic + ":" + k.ID
	}
	return "MSGDEDUP:" + k.Application + ":" + k.Topic + ":" + k.Tag + ":" + k.ID
}

// companionName is the documented name of the companion of k, which has no brace.
func companionName(k store.Key) string { return "{" + compatName(k) + "}:o" }
