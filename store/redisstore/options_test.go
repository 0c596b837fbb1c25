package redisstore_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// wrapper hides a client's type, not its options.
type wrapper struct{ *redis.Client }

// opaque hides its options, too.
type opaque struct{ redis.UniversalClient }

func TestNewReportsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	single := func(change func(*redis.Options)) redis.UniversalClient { return connect(t, "127.0.0.1:1", change) }
	cluster := func(change func(*redis.ClusterOptions)) redis.UniversalClient {
		o := &redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true, ReadTimeout: time.Second}
		change(o)
		c := redis.NewClusterClient(o)
		t.Cleanup(func() { c.Close() })
		return c
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { ring.Close() })
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
	t.Cleanup(func() { sentinel.Close() })
	good := single(nil)

	for _, c := range []struct {
		name    string
		client  redis.UniversalClient
		options redisstore.Options
		want    []string // all of these, in order; none means success
	}{
		{"recommended options", good, redisstore.Options{}, nil},
		{"a sentinel client", sentinel, redisstore.Options{}, nil},
		{"a cluster client", cluster(func(*redis.ClusterOptions) {}), redisstore.Options{}, nil},
		{"a wrapped client", wrapper{good.(*redis.Client)}, redisstore.Options{}, nil},
		{"another prefix", good, redisstore.Options{Prefix: "my_app.v2/dedup-1:"}, nil},
		{"nil client", nil, redisstore.Options{}, []string{"client is nil"}},
		{"typed nil client", (*redis.Client)(nil), redisstore.Options{}, []string{"client is nil"}},
		{"ring", ring, redisstore.Options{}, []string{"redis.Ring"}},
		{"unknown client", opaque{good}, redisstore.Options{}, []string{"opaque", "Options()"}},
		{"go-redis defaults", single(func(o *redis.Options) { *o = redis.Options{Addr: o.Addr} }), redisstore.Options{},
			[]string{"ContextTimeoutEnabled is false", "ReadTimeout × (MaxRetries + 1) is 5s × 4"}},
		{"no read timeout", single(func(o *redis.Options) { o.ReadTimeout = -1 }), redisstore.Options{},
			[]string{"ReadTimeout is off"}},
		{"no read deadline", single(func(o *redis.Options) { o.ReadTimeout = -2 }), redisstore.Options{},
			[]string{"WriteTimeout is -2", "ReadTimeout is off"}},
		{"no write deadline", single(func(o *redis.Options) { o.WriteTimeout = -2 }), redisstore.Options{},
			[]string{"WriteTimeout is -2"}},
		{"many redirects", cluster(func(o *redis.ClusterOptions) { o.MaxRedirects = 20 }), redisstore.Options{},
			[]string{"(MaxRedirects + 1) is 1s × 21"}},
		{"short leases", good, redisstore.Options{MinLease: 12 * time.Second}, []string{"MinLease 12s / 3"}},
		{"leases just long enough", good, redisstore.Options{MinLease: 12*time.Second + 3}, nil},
		{"reads from replicas", cluster(func(o *redis.ClusterOptions) { o.ReadOnly = true }), redisstore.Options{},
			[]string{"replicas"}},
		{"reads from the closest", cluster(func(o *redis.ClusterOptions) { o.RouteByLatency = true }), redisstore.Options{},
			[]string{"replicas"}},
		{"prefix with braces", good, redisstore.Options{Prefix: "{a}"}, []string{`Prefix is "{a}"`}},
		{"prefix too long", good, redisstore.Options{Prefix: strings.Repeat("a", 65)}, []string{"Prefix"}},
		{"everything", nil, redisstore.Options{Prefix: " ", MinLease: -1},
			[]string{"client is nil", "Prefix", "MinLease"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := redisstore.New(c.client, c.options)
			if len(c.want) == 0 {
				if s == nil || err != nil {
					t.Fatalf("got error %v, want a Store", err)
				}
				return
			}
			if s != nil || err == nil || !strings.HasPrefix(err.Error(), "redisstore: ") {
				t.Fatalf("got %v, %v, want no Store and an error of this package", s, err)
			}
			rest := err.Error()
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("got %q, want it to contain %q in this order", err, c.want)
				}
				rest = after
			}
		})
	}
}

func TestNewDoesNoIO(t *testing.T) {
	t.Parallel()
	client := connect(t, "127.0.0.1:1", func(o *redis.Options) {
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			t.Error("New connects")
			return nil, net.ErrClosed
		}
	})
	open(t, client)
}
