package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func hasFinding(findings []*redisstore.Finding, field string, advice bool) bool {
	return slices.ContainsFunc(findings, func(f *redisstore.Finding) bool {
		return f.Field == field && f.Advice == advice && f.Problem != "" && f.Remedy != ""
	})
}

func TestCheckLooksAtTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		args     []string
		options  redisstore.Options
		findings []string // fields that Check reports
		advice   []string // fields that only Inspect reports
	}{
		{"right server", []string{"--appendonly", "yes"}, redisstore.Options{}, nil, nil},
		{"no persistence", nil, redisstore.Options{}, nil, []string{"appendonly"}},
		{"evicts what expires", []string{"--maxmemory", "1gb", "--maxmemory-policy", "volatile-lru"}, redisstore.Options{},
			[]string{"maxmemory-policy"}, []string{"appendonly"}},
		{"evicts anything", []string{"--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu"}, redisstore.Options{},
			[]string{"maxmemory-policy"}, []string{"appendonly"}},
		{"eviction accepted", []string{"--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu"},
			redisstore.Options{AllowEviction: true}, nil, []string{"appendonly"}},
		{"would evict if memory were limited", []string{"--maxmemory-policy", "volatile-ttl"}, redisstore.Options{},
			nil, []string{"maxmemory-policy", "appendonly"}},
		{"does not evict", []string{"--maxmemory", "1gb", "--maxmemory-policy", "noeviction", "--appendonly", "yes"},
			redisstore.Options{}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, testserver.Redis(t, c.args...).Addr(), nil)
			s, err := redisstore.New(client, c.options)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := s.Inspect(within(t, ample))
			if err != nil || len(findings) != len(c.findings)+len(c.advice) {
				t.Errorf("inspect: got %v, %v, want %d findings", findings, err, len(c.findings)+len(c.advice))
			}
			checked := s.Check(within(t, ample))
			if (checked == nil) != (len(c.findings) == 0) {
				t.Errorf("check: got %v, want %d findings", checked, len(c.findings))
			}
			for _, field := range c.findings {
				var f *redisstore.Finding
				if !hasFinding(findings, field, false) || !errors.As(checked, &f) || !strings.Contains(checked.Error(), field) {
					t.Errorf("got %v, want one about %s", findings, field)
				}
			}
			for _, field := range c.advice {
				if !hasFinding(findings, field, true) {
					t.Errorf("got %v, want advice about %s", findings, field)
				}
			}
		})
	}
}

func TestCheckLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s := open(t, client)
	if err := s.Check(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	for _, name := range client.Keys(t.Context(), "*").Val() {
		if left := client.PTTL(t.Context(), name).Val(); left <= 0 || left.Seconds() > 1 {
			t.Errorf("%s lives for %v, want at most a second", name, left)
		}
		if strings.Count(name[len(prefix):], ":") != 1 {
			t.Errorf("%s could be the name of a record", name)
		}
	}
}

func TestCheckNeedsAClusterClientForACluster(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t, "--cluster-enabled", "yes").Addr(), hasty)
	findings, err := open(t, client).Inspect(within(t, ample))
	if !hasFinding(findings, "client", false) || store.ClassOf(err) != store.NotApplied {
		t.Errorf("got %v, %v, want one about the client, and CLUSTERDOWN from the scripts", findings, err)
	}
}

func TestCheckFailsWhenItCannotLook(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--appendonly", "yes")
	s := open(t, connect(t, server.Addr(), hasty))
	if err := connect(t, server.Addr(), nil).Do(t.Context(), "acl", "setuser", "default", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, s.Check(within(t, ample)), store.Permanent, "info")
	server.Kill()
	if err := s.Check(within(t, ample)); err == nil {
		t.Error("check of a server that is gone: got no error")
	}
}

func TestCheckFindsAServerWhoseScriptsDecideOtherwise(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t, "--appendonly", "yes").Addr(), nil)
	s := open(t, client)
	client.AddHook(forgetful{around{func(error) {}}})
	err := s.Check(within(t, ample))
	var f *redisstore.Finding
	if !errors.As(err, &f) || f.Field != "scripts" {
		t.Errorf("got %v, want a finding about the scripts", err)
	}
}

// forgetful loses every record after each script, as a server that evicts at
// once does.
type forgetful struct{ around }

func (forgetful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") {
			return errors.Join(err, next(ctx, redis.NewStatusCmd(ctx, "flushall")))
		}
		return err
	}
}
