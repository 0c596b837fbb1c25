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
	if !strings.Contains(string(text), "ACL SETUSER dedup "+recommendedRights+"\n") {
		t.Errorf("the package comment does not say %q", recommendedRights)
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
