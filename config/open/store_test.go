package open_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// secret must never be seen.
const secret = "hunter2-very-secret"

func at(addrs ...string) config.Config {
	c := configured()
	c.Store.Redis.Addrs = addrs
	return c
}

// works wants a store that can claim and complete. It leaves a record that ends
// after a minute.
func works(t *testing.T, c config.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	s, closeStore, err := open.Store(ctx, c)
	if err != nil {
		t.Fatalf("Store: %v", err)
	}
	k := store.Key{Application: "app", Topic: "orders", ID: store.NewToken().String()}
	token := store.NewToken()
	v, err := s.Claim(ctx, store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: time.Hour})
	if err != nil || v.State != store.Claimed {
		t.Errorf("claim: got %v, %v, want claimed", v.State, err)
	}
	if got, err := s.Complete(ctx, k, token, time.Minute); err != nil || got != store.Completed {
		t.Errorf("complete: got %v, %v, want completed", got, err)
	}
	if err := closeStore(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, isRedis := s.(store.Checker); !isRedis {
		return
	}
	if _, err := s.Complete(ctx, k, token, time.Minute); err == nil {
		t.Error("the closed store still answers")
	}
}

// fails wants an error that begins with the setting and holds no secret.
func fails(t *testing.T, c config.Config, setting string) {
	t.Helper()
	failsWithin(t, ample, c, setting)
}

// failsWithin is for servers that do not answer.
func failsWithin(t *testing.T, d time.Duration, c config.Config, setting string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, _, err := open.Store(ctx, c)
	if err == nil || !strings.HasPrefix(err.Error(), setting+": ") {
		t.Fatalf("got %v, want an error that begins with %s", err, setting)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows a secret: %v", err)
	}
	if strings.Count(err.Error(), setting) != 1 {
		t.Errorf("the error says the same twice: %v", err)
	}
}

func TestTheMemoryStoreNeedsNoServer(t *testing.T) {
	c := configured()
	c.Store = config.Store{Type: "memory"}
	works(t, c)
}

func TestTheTestRedisWorks(t *testing.T) {
	works(t, at(storetest.Server(t, "DEDUP_TEST_REDIS")))
}

func TestWhatIsOnlyUnwiseIsLogged(t *testing.T) {
	works(t, at(testserver.Redis(t).Addr()))
	if !strings.Contains(logged.String(), "appendonly") {
		t.Error("the log does not tell that the server forgets records with a crash")
	}
}

func TestAnInvalidConfigurationConnectsNowhere(t *testing.T) {
	c := configured()
	c.Store.Redis.Addrs = nil
	c.RocketMQ.Group = ""
	_, _, err := open.Store(t.Context(), c)
	if all := (config.Problems{}); !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("got %v, want both problems", err)
	}
}

func TestUserAndPassword(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer admin.Close()
	for _, command := range [][]any{
		{"acl", "setuser", "dedup", "on", ">" + secret, "~*", "+@all"},
		{"acl", "setuser", "weak", "on", ">" + secret, "~*", "-@all", "+info"},
		{"config", "set", "requirepass", secret},
	} {
		if err := admin.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ name, user, password, setting string }{
		{"the default user", "", secret, ""},
		{"a user of its own", "dedup", secret, ""},
		{"no password", "", "", "store.redis.password"},
		{"a wrong password", "", secret + "!", "store.redis.password"},
		{"an unknown user", "nobody", secret, "store.redis.password"},
		{"a user without rights", "weak", secret, "store.redis.username"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := at(server.Addr())
			c.Store.Redis.Username, c.Store.Redis.Password = row.user, config.Secret(row.password)
			if row.setting == "" {
				works(t, c)
				return
			}
			fails(t, c, row.setting)
		})
	}
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	ca, other := testserver.NewCA(t), testserver.NewCA(t)
	soon := time.Now().Add(time.Hour)
	right := testserver.Redis(t, ca.Issue(t, "127.0.0.1", soon).RedisArgs(ca)...)
	elsewhere := testserver.Redis(t, ca.Issue(t, "redis.internal", soon).RedisArgs(ca)...)
	expired := testserver.Redis(t, ca.Issue(t, "127.0.0.1", time.Now().Add(-time.Hour)).RedisArgs(ca)...)
	plain := testserver.Redis(t)
	for _, row := range []struct {
		name, addr string
		tls        config.TLS
		setting    string
	}{
		{"trusted", right.Addr(), config.TLS{Enabled: true, CAFile: ca.File()}, ""},
		{"named", elsewhere.Addr(), config.TLS{Enabled: true, CAFile: ca.File(), ServerName: "redis.internal"}, ""},
		{"another name", elsewhere.Addr(), config.TLS{Enabled: true, CAFile: ca.File()}, "store.redis.tls.server_name"},
		{"another authority", right.Addr(), config.TLS{Enabled: true, CAFile: other.File()}, "store.redis.tls.ca_file"},
		{"expired", expired.Addr(), config.TLS{Enabled: true, CAFile: ca.File()}, "store.redis.tls.ca_file"},
		{"the server wants it", right.Addr(), config.TLS{}, "store.redis.tls.enabled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := at(row.addr)
			c.Store.Redis.TLS = row.tls
			if row.setting == "" {
				works(t, c)
				return
			}
			fails(t, c, row.setting)
		})
	}
	t.Run("the server wants none", func(t *testing.T) {
		c := at(plain.Addr())
		c.Store.Redis.TLS.Enabled = true
		failsWithin(t, time.Second, c, "store.redis.tls.enabled")
	})
}

func TestServersThatDoNotFit(t *testing.T) {
	t.Parallel()
	t.Run("nobody there", func(t *testing.T) { fails(t, at("127.0.0.1:1"), "store.redis.addrs") })
	t.Run("no such host", func(t *testing.T) { fails(t, at("no-such-host.invalid:6379"), "store.redis.addrs") })
	t.Run("silent", func(t *testing.T) {
		proxy := testserver.NewProxy(t, "127.0.0.1:1")
		proxy.BlackHole(true)
		c := at(proxy.Addr())
		failsWithin(t, time.Second, c, "store.redis.addrs")
	})
	t.Run("database out of range", func(t *testing.T) {
		c := at(testserver.Redis(t).Addr())
		c.Store.Redis.DB = 99
		fails(t, c, "store.redis.db")
	})
	t.Run("evicting", func(t *testing.T) {
		c := at(testserver.Redis(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru").Addr())
		fails(t, c, "store.redis.allow_eviction")
		c.Store.Redis.AllowEviction = true
		works(t, c)
	})
	t.Run("not a cluster", func(t *testing.T) {
		c := at(testserver.Redis(t).Addr())
		c.Store.Redis.Cluster = true
		fails(t, c, "store.redis.cluster")
	})
}

func TestACluster(t *testing.T) {
	t.Parallel()
	c := at(testserver.Cluster(t, 1, 0).Addrs()...)
	fails(t, c, "store.redis.cluster")
	c.Store.Redis.Cluster = true
	works(t, c)
}

func TestTheTestClusterWorks(t *testing.T) {
	t.Parallel()
	c := at(strings.Split(storetest.Server(t, "DEDUP_TEST_REDIS_CLUSTER"), ",")...)
	c.Store.Redis.Cluster = true
	works(t, c)
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	set := testserver.Sentinel(t, "--requirepass", secret)
	c := at(set.Addrs()...)
	c.Store.Redis.Sentinel = config.Sentinel{MasterName: testserver.MasterName, Password: secret}
	works(t, c)

	unknown := c
	unknown.Store.Redis.Sentinel.MasterName = "others"
	fails(t, unknown, "store.redis.sentinel.master_name")

	refused := c
	refused.Store.Redis.Sentinel.Password = secret + "!"
	fails(t, refused, "store.redis.sentinel.password")

	absent := c
	absent.Store.Redis.Addrs = []string{"127.0.0.1:1"}
	failsWithin(t, 2*time.Second, absent, "store.redis.addrs")
}

func TestTheTestSentinelsWork(t *testing.T) {
	t.Parallel()
	c := at(strings.Split(storetest.Server(t, "DEDUP_TEST_REDIS_SENTINEL"), ",")...)
	c.Store.Redis.Sentinel.MasterName = storetest.Server(t, "DEDUP_TEST_REDIS_MASTER")
	works(t, c)
	c.Store.Redis.Sentinel.MasterName = "others"
	fails(t, c, "store.redis.sentinel.master_name")
}
