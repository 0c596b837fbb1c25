package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
)

func TestEnvironmentSetsWhatTheFileDoesNotName(t *testing.T) {
	want := load(t, minimal)
	t.Setenv("DEDUP_STORE_REDIS_PASSWORD", "hunter2")
	t.Setenv("DEDUP_STORE_REDIS_ADDRS", "10.0.0.7:6379, 10.0.0.8:6379")
	t.Setenv("DEDUP_STORE_REDIS_CLUSTER", "true")
	t.Setenv("DEDUP_STORE_REDIS_POOL_SIZE", "50")
	t.Setenv("DEDUP_DEFAULTS_LEASE", "45s")
	t.Setenv("DEDUP_ROCKETMQ_DELAY_LEVELS", "1s,2s,1m,1h")
	t.Setenv("DEDUP_ROCKETMQ_GROUP", "refunds")
	t.Setenv("DEDUP_LOG_LEVEL", "debug")
	c := load(t, minimal)
	want.Application, want.RocketMQ.Group, want.Log.Level = "refunds", "refunds", "debug"
	want.RocketMQ.DelayLevels = []time.Duration{time.Second, 2 * time.Second, time.Minute, time.Hour}
	want.Store.Redis.Password, want.Store.Redis.Cluster, want.Store.Redis.PoolSize = "hunter2", true, 50
	want.Store.Redis.Addrs = []string{"10.0.0.7:6379", "10.0.0.8:6379"}
	want.Defaults.Lease = 45 * time.Second
	if !reflect.DeepEqual(c, want) || c.Store.Redis.Password.Reveal() != "hunter2" {
		t.Errorf("got\n%v\nwant\n%v", c, want)
	}
}

func TestEmptyVariableCountsAsNotSet(t *testing.T) {
	t.Setenv("DEDUP_ROCKETMQ_GROUP", "")
	if c := load(t, minimal); c.RocketMQ.Group != "billing" {
		t.Errorf("got group %q, want the file's", c.RocketMQ.Group)
	}
}

func TestVariableNamedLikeASectionHidesNothing(t *testing.T) {
	t.Setenv("DEDUP_STORE", "memory")
	t.Setenv("DEDUP_LOG", "debug")
	t.Setenv("DEDUP_STORE_REDIS_PASWORD", "hunter2")
	t.Setenv("DEDUP_TOPIC", "orders") // dedupctl sets it for its commands
	t.Setenv("DEDUP_REDIS_PORT_6379_TCP", "tcp://10.0.0.1:6379")
	c := load(t, minimal+"log: {level: warn}\n")
	if c.Store.Redis.Addrs[0] != "10.0.0.5:6379" || c.Log.Level != "warn" {
		t.Errorf("got %v, want the file's store and log", c)
	}
	got := config.Problems(c.Warnings()).Error()
	want := "environment DEDUP_LOG: no such setting\n" +
		"environment DEDUP_STORE: no such setting\n" +
		"environment DEDUP_STORE_REDIS_PASWORD: no such setting; did you mean DEDUP_STORE_REDIS_PASSWORD?"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProblemNamesTheVariableThatSetTheValue(t *testing.T) {
	t.Setenv("DEDUP_DEFAULTS_LEASE", "10")
	t.Setenv("DEDUP_STORE_REDIS_DB", "zero")
	t.Setenv("DEDUP_ROCKETMQ_NAME_SERVERS", "ns-1:9876,ns-2")
	t.Setenv("DEDUP_ROCKETMQ_TLS", "yes")
	wantProblem(t, minimal, `environment DEDUP_DEFAULTS_LEASE: defaults.lease: "10": needs a unit, e.g. 10s
environment DEDUP_ROCKETMQ_NAME_SERVERS: rocketmq.name_servers[1]: "ns-2": want host:port, one per entry
environment DEDUP_ROCKETMQ_TLS: rocketmq.tls: "yes": want true or false
environment DEDUP_STORE_REDIS_DB: store.redis.db: "zero": want a whole number`)
}

func TestSecretsFromFiles(t *testing.T) {
	file := write(t, "c.yaml", strings.Replace(minimal, "{addrs:", "{password_file: secrets/redis, addrs:", 1))
	folder := filepath.Join(filepath.Dir(file), "secrets")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(folder, "redis")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(want string) {
		t.Helper()
		if _, err := config.Load(file); err == nil || err.Error() != file+": store.redis.password_file: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	wants(fmt.Sprintf("%q: no such file or directory", secret))
	put("\r\n")
	wants(fmt.Sprintf("%q: the file is empty", secret))
	put(strings.Repeat("x", 64<<10+1))
	wants(fmt.Sprintf("%q: over 65536 bytes long", secret))

	put(" hunter2 \r\n")
	c, err := config.Load(file)
	if err != nil || c.Store.Redis.Password.Reveal() != " hunter2 " {
		t.Errorf("got %q, %v, want the file without its line end", c.Store.Redis.Password.Reveal(), err)
	}
	t.Setenv("DEDUP_STORE_REDIS_PASSWORD", "other")
	wants("store.redis.password is set too; want one of the two")
}

func TestSyntaxErrorsShowNoContent(t *testing.T) {
	for name, text := range map[string]string{
		"anchor.yaml":   "store: {redis: {password: *hunter2}}",
		"tag.yaml":      "store: {redis: {password: !!int hunter2}}",
		"tab.yaml":      "store:\n\tpassword: hunter2",
		"quote.yaml":    `password: "hunter2`,
		"percent.yaml":  "password: %hunter2",
		"bare.toml":     "password = hunter2",
		"number.toml":   "password = 99999999999999999999",
		"again.toml":    "password = 'hunter2'\npassword = 'hunter2'",
		"bare.json":     `{"password": hunter2}`,
		"open.json":     `{"password": "hunter2`,
		"trailing.json": `{} {"password": "hunter2"}`,
	} {
		_, err := config.Load(write(t, name, text))
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "9999") {
			t.Errorf("%s: got %v, want an error without the secret", name, err)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n) + "]" }
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c %s\n", c, c, list("*"+string(c-1), 10))
	}
	for _, c := range []struct{ name, text, want string }{
		{"ending.ini", "", `ending ".ini", want .yaml, .yml, .toml or .json`},
		{"large.yaml", strings.Repeat("# comment\n", 1<<20/10+1), "over 1048576 bytes long"},
		{"two.yaml", minimal + "---\n" + minimal, "more than one document"},
		{"list.yaml", "- a\n", "want sections such as rocketmq: at the top"},
		{"text.json", `"a"`, "want sections such as rocketmq: at the top"},
		{"two.json", `{}{}`, "line 1: more than one value"},
		{"twice.json", `{"log":{"level":"info","level":"warn"}}`, "log.level: the key is there twice"},
		{"cut.json", "{\n\"a\":", "line 2: unexpected EOF"},
		{"bomb.yaml", bomb, "nested more than 16 deep|more than 20000 values"},
		{"wide.yaml", "a: &a " + list("x", 200) + "\nb: " + list("*a", 200), "more than 20000 values"},
		{"self.yaml", "a: &a [*a]\n", "nested more than 16 deep"},
		{"deep.yaml", "a: " + deep("[", "]", 5000), "nested more than 16 deep"},
		{"deeper.yaml", "a: " + deep("[", "]", 200_000), "yaml: "},
		{"deep.json", deep("[", "]", 500_000), "nested more than 16 deep"},
		{"deep.toml", "a = " + deep("[", "]", 500_000), "nested more than 16 deep"},
		{"open.toml", "a = " + strings.Repeat("[", 1_000_000), "nested more than 16 deep"},
		{"dots.toml", strings.Repeat("a.", 300_000) + "a = 1", "nested more than 16 deep"},
		{"twice.toml", "[log]\nlevel = 'info'\nlevel = 'warn'\n", "toml: key level is already defined"},
		{"merge.yaml", "log: {<<: info}\n", "yaml: line 1: << merges sections only"},
	} {
		file := write(t, c.name, c.text)
		_, err := config.Load(file)
		matches := func(want string) bool { return err != nil && strings.Contains(err.Error(), want) }
		if a, b, _ := strings.Cut(c.want, "|"); !matches(a) && (b == "" || !matches(b)) {
			t.Errorf("%s: got %.300v, want %s", c.name, err, c.want)
		}
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	folder := t.TempDir()
	for file, want := range map[string]string{
		folder:                          "not a regular file",
		os.DevNull:                      "not a regular file",
		filepath.Join(folder, "c.yaml"): "no such file or directory",
		"":                              "no such file or directory",
	} {
		if _, err := config.Load(file); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", file, err, want)
		}
	}
}

func TestYAMLAnchorsAndMerges(t *testing.T) {
	c := load(t, `
rocketmq: {name_servers: [10.0.0.1:9876], group: billing}
store: {redis: {addrs: [10.0.0.5:6379]}}
topics:
  - &slow {name: orders, key: keys, lease: 1m, keep: 30h}
  - {<<: *slow, name: refunds, keep: 40h}
  - {<<: [{key: "property:NO"}, *slow], name: shipments}
`)
	for i, want := range []struct {
		key  string
		keep time.Duration
	}{{"keys", 30 * time.Hour}, {"keys", 40 * time.Hour}, {"property:NO", 30 * time.Hour}} {
		got := c.Topics[i]
		if got.Key != want.key || got.Keep != want.keep || got.Lease != time.Minute {
			t.Errorf("topic %d: got %+v, want %+v", i, got, want)
		}
	}
}

// FuzzLoad shows that no file panics, and that whatever loads is valid and can
// be printed and loaded again.
func FuzzLoad(f *testing.F) {
	names := []string{"c.yaml", "c.toml", "c.json"}
	for i, ext := range []string{"yaml", "toml", "json"} {
		text, err := os.ReadFile("testdata/consumer." + ext)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), string(text))
	}
	for _, text := range []string{minimal, onMySQL, "a: &a [*a]", "<<: {a: b}", "? {}\n: x", "topics: [~]", "{", "\x00"} {
		f.Add(uint8(0), text)
	}
	f.Add(uint8(1), "[[topics]]\nname = 1979-05-27\n")
	f.Add(uint8(2), `{"topics":[null],"store":7}`)
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, format uint8, text string) {
		file := filepath.Join(folder, names[int(format)%len(names)])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(file)
		if err != nil {
			if problems := config.Problems(nil); !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("got %T", err)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("loaded, but not valid: %v", err)
		}
		_ = c.Warnings()
		c.RocketMQ.SecretKey, c.Store.Redis.Password, c.Store.Redis.Sentinel.Password = "", "", ""
		c.Store.MySQL.Password = ""
		needsSecret := c.RocketMQ.AccessKey != "" || c.Store.MySQL.DSN != ""
		if again := filepath.Join(folder, "again.yaml"); !needsSecret {
			if err := os.WriteFile(again, []byte(c.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			if d, err := config.Load(again); err != nil || d.String() != c.String() {
				t.Fatalf("printed %v\nand got %v, %v", c, d, err)
			}
		}
	})
}
