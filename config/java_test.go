package config_test

import (
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
)

const besideJava = `
rocketmq: {name_servers: [10.0.0.1:9876], group: billing}
store: {redis: {addrs: [10.0.0.5:6379], java_compatible: true}}
topics: [{name: orders}, {name: refunds, key: default}, {name: shipments, key: keys}]
`

func TestRecordsOfTheOriginalHaveItsNamesAndItsKey(t *testing.T) {
	c := load(t, besideJava)
	if c.Store.Redis.Prefix != "" {
		t.Errorf("got the prefix %q, want none", c.Store.Redis.Prefix)
	}
	for i, want := range []string{"message_id", "default", "keys"} {
		if got := c.KeyOf(c.Topics[i]); got != want {
			t.Errorf("%s: got the key %s, want %s", c.Topics[i].Name, got, want)
		}
	}
	c.Store.Redis.JavaCompatible = false
	if got := c.KeyOf(c.Topics[0]); got != "default" {
		t.Errorf("records of our own: got the key %s, want default", got)
	}
}

func TestKeysThatTheOriginalDoesNotShareAreWarnedOf(t *testing.T) {
	warned := map[string]string{}
	for _, w := range load(t, besideJava).Warnings() {
		warned[w.Field] = w.Text
	}
	if !strings.Contains(warned["topics[0].key"], "not set: message_id") ||
		!strings.Contains(warned["topics[1].key"], "the original has no such key") || len(warned) != 2 {
		t.Errorf("got %v, want a warning for each of the first two topics", warned)
	}
}

func TestAPrefixFromTheEnvironmentDoesNotFitTheOriginal(t *testing.T) {
	t.Setenv("DEDUP_STORE_REDIS_PREFIX", "dedup:")
	_, err := config.Load(write(t, "c.yaml", besideJava))
	if err == nil || !strings.HasPrefix(err.Error(), "environment DEDUP_STORE_REDIS_PREFIX: store.redis.prefix: ") {
		t.Errorf("got %v, want a problem with the variable", err)
	}
}

func TestAPrintedConfigurationForTheOriginalLoadsAgain(t *testing.T) {
	c := load(t, besideJava)
	if again := load(t, c.String()); again.String() != c.String() {
		t.Errorf("got\n%v\nwant\n%v", again, c)
	}
}
