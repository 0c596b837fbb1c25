package redisstore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// recommendedRights are those of the package comment.
const recommendedRights = "on >password ~dedup:* resetchannels" +
	" -@all +eval +evalsha +get +set +pttl +pexpire +time +info"

// The rights that only some calls need.
const (
	rightsToForget      = "+del"
	rightsToScan        = "+scan"
	rightsToScanCluster = "+cluster|getkeysinslot"
)

// needsRights wants Get to work, and Forget and Scan as soon as grant has given
// the rights.
func needsRights(t *testing.T, s *redisstore.Store, grant func() error) {
	t.Helper()
	k, ctx := newKey(), within(t, ample)
	finish(t, s, []store.Key{k})
	if r, err := s.Get(ctx, k); err != nil || r.Status != store.StatusConsumed {
		t.Errorf("get: got %+v, %v, want it done", r, err)
	}
	scan := func() (int, error) {
		w := newWalk(store.MaxScan)
		for {
			if page, err := s.Scan(ctx, w.query); err != nil || !w.took(page) {
				return len(w.shown), err
			}
		}
	}
	_, err := scan()
	for call, err := range map[string]error{"forget": s.Forget(ctx, k), "scan": err} {
		if store.ClassOf(err) != store.Permanent {
			t.Errorf("%s without the right: got %v, want a permanent error", call, err)
		}
	}
	if err := grant(); err != nil {
		t.Fatal(err)
	}
	if n, err := scan(); n != 1 || err != nil {
		t.Errorf("scan: got %d records, %v, want one", n, err)
	}
	if err := s.Forget(ctx, k); err != nil {
		t.Errorf("forget: %v", err)
	}
}

func setUser(rights string) []any {
	command := []any{"acl", "setuser", "dedup"}
	for _, right := range strings.Fields(rights) {
		command = append(command, right)
	}
	return command
}

func TestTheRecommendedRightsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ACL SETUSER dedup " + recommendedRights + "\n",
		"Forget also needs " + rightsToForget + ", Scan " + rightsToScan + " or, of a cluster,\n// " + rightsToScanCluster,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the package comment does not say %q", want)
		}
	}
}

// The user of the package comment can do everything, and nothing else.
func TestTheRecommendedRightsAreEnough(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	if err := connect(t, server.Addr(), nil).Do(t.Context(), setUser(recommendedRights)...).Err(); err != nil {
		t.Fatal(err)
	}
	client := connect(t, server.Addr(), func(o *redis.Options) { o.Username, o.Password = "dedup", "password" })
	s, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(within(t, ample)); err != nil { // runs every script
		t.Errorf("check: %v", err)
	}
	doubts(t, s)
	needsRights(t, s, func() error {
		return connect(t, server.Addr(), nil).Do(t.Context(), setUser(rightsToForget+" "+rightsToScan)...).Err()
	})
	for name, err := range map[string]error{
		"another key":             client.Get(t.Context(), "other").Err(),
		"another key in a script": client.Eval(t.Context(), "return redis.call('GET', 'other')", []string{"dedup:a"}).Err(),
		"KEYS":                    client.Keys(t.Context(), "*").Err(),
		"FLUSHALL":                client.FlushAll(t.Context()).Err(),
		"CONFIG":                  client.ConfigGet(t.Context(), "*").Err(),
	} {
		if class, _ := redisstore.Classify(err); err == nil || class != store.Permanent {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
}
