package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// minimal is the shortest YAML that loads without a warning.
const minimal = `
rocketmq: {name_servers: [10.0.0.1:9876], group: billing}
store: {redis: {addrs: [10.0.0.5:6379]}}
topics:
  - {name: orders, key: keys}
`

// write makes a file in a folder of its own.
func write(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Load(write(t, "c.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantProblem loads text and wants exactly one problem.
func wantProblem(t *testing.T, text, want string) {
	t.Helper()
	file := write(t, "c.yaml", text)
	_, err := config.Load(file)
	if err == nil {
		t.Errorf("loaded, want %s", want)
		return
	}
	if got := strings.ReplaceAll(err.Error(), file+": ", ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheThreeFormatsSayTheSame(t *testing.T) {
	want, err := config.Load("testdata/consumer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/consumer.toml", "testdata/consumer.json"} {
		if got, err := config.Load(file); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\n%v\nwant %v", file, err, got, want)
		}
	}
	if len(want.Warnings()) > 0 {
		t.Errorf("got warnings %v, want none for the example", want.Warnings())
	}
}

func TestLoadedValues(t *testing.T) {
	c, err := config.Load("testdata/consumer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Application = "billing"
	want.RocketMQ.NameServers = []string{"10.0.0.1:9876", "10.0.0.2:9876"}
	want.RocketMQ.Group, want.RocketMQ.ConsumeFrom = "billing", "first"
	want.Store.Redis.Addrs = []string{"10.0.0.5:6379"}
	want.Store.Redis.Username, want.Store.Redis.Password = "dedup", "example-only"
	want.Store.Redis.PasswordFile = filepath.Join("testdata", "redis.password")
	want.Store.Redis.TLS = config.TLS{Enabled: true, ServerName: "redis.internal"}
	want.Defaults = config.Policy{Lease: 30 * time.Second, MaxConsume: 5 * time.Minute, Keep: 72 * time.Hour}
	want.Topics = []config.Topic{
		{Name: "orders", Tags: "paid || refunded", Key: "json:order.no"},
		{
			Name: "shipments", Key: "{tag}:{property:SHIPMENT_ID}",
			Policy: config.Policy{Lease: time.Minute, MaxAttempts: 5, Outage: "run"},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%v\nwant\n%v", c, want)
	}
}

func TestPolicyInEffect(t *testing.T) {
	c := load(t, minimal+`
  - {name: a, key: keys, lease: 1m}
  - {name: b, key: keys, max_attempts: 0, outage: retry}
defaults: {max_consume: 5m, max_attempts: 3, outage: run, hold_limit: 1m, busy_wait: 5s}
`)
	base := dedup.Policy{
		Lease: 30 * time.Second, MaxConsume: 5 * time.Minute, Keep: 24 * time.Hour, Horizon: 3 * time.Hour,
		MaxAttempts: 3, Outage: dedup.OutageRun, HoldLimit: time.Minute,
		BusyWait: 5 * time.Second,
	}
	longer, unlimited := base, base
	longer.Lease = time.Minute
	unlimited.MaxAttempts, unlimited.Outage = 0, dedup.OutageRetry
	for i, want := range []dedup.Policy{base, longer, unlimited} {
		if got := c.PolicyOf(c.Topics[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("topic %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestShortMaxConsumeShortensTheLease(t *testing.T) {
	c := load(t, minimal+"defaults: {max_consume: 20s}\n")
	if got := c.PolicyOf(c.Topics[0]).Lease; got != 20*time.Second {
		t.Errorf("got lease %v, want 20s", got)
	}
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	_, err := config.Load(filepath.Join("testdata", "wrong.yaml"))
	if err == nil {
		t.Fatal("loaded")
	}
	golden := filepath.Join("testdata", "wrong.golden")
	got := err.Error() + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is in the text")
	}
}

func TestProblemsCanBeTakenApart(t *testing.T) {
	file := write(t, "c.yaml", strings.Replace(minimal, "key: keys", "lease: 10", 1))
	_, err := config.Load(file)
	var one config.Problem
	var all config.Problems
	if !errors.As(err, &one) || !errors.As(err, &all) || len(all) != 1 {
		t.Fatalf("got %v, want one problem", err)
	}
	want := config.Problem{Source: file, Field: "topics[0].lease", Value: "10", Text: "needs a unit, e.g. 10s"}
	if one != want {
		t.Errorf("got %+v, want %+v", one, want)
	}
}

func TestNoFormattingShowsASecret(t *testing.T) {
	c := config.Default()
	c.RocketMQ.SecretKey, c.Store.Redis.Password, c.Store.Redis.Sentinel.Password = "hunter2", "hunter2", "hunter2"
	c.Store.MySQL.DSN, c.Store.MySQL.Password = "u:hunter2@tcp(a:1)/d", "hunter2"
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", &c)
		fmt.Fprintf(&out, verb+"\n", c.Store)
		fmt.Fprintf(&out, verb+"\n", c.Store.MySQL)
		fmt.Fprintf(&out, verb+"\n", &c.Store.MySQL)
		fmt.Fprintf(&out, verb+"\n", c.Store.Redis.Password)
		fmt.Fprintf(&out, verb+"\n", []config.Secret{c.RocketMQ.SecretKey})
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	out.WriteString(c.String() + c.RocketMQ.SecretKey.String())
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("loaded", "config", c, "pointer", &c, "store", c.Store, "mysql", c.Store.MySQL, "password", c.Store.Redis.Password)
	}
	for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprint([]byte("hunter2"))} {
		if strings.Contains(strings.ToLower(out.String()), form) {
			t.Errorf("found %s in\n%s", form, out.String())
		}
	}
	if c.RocketMQ.SecretKey.Reveal() != "hunter2" || config.Secret("").String() != "" {
		t.Error("Reveal must show a secret, String must tell that there is none")
	}
}

func TestPrintedConfigurationLoadsAgain(t *testing.T) {
	c := load(t, minimal+`
  - {name: a, key: json:no, lease: 1m, max_attempts: 4}
defaults: {keep: 30h, max_attempts: 2}
`)
	again := load(t, c.String())
	if again.String() != c.String() || !reflect.DeepEqual(again.PolicyOf(again.Topics[1]), c.PolicyOf(c.Topics[1])) {
		t.Errorf("got\n%v\nwant\n%v", again, c)
	}
}

func TestValidateOfAConfigurationMadeByHand(t *testing.T) {
	c := config.Default()
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "config: rocketmq.group: missing; ") {
		t.Errorf("got %v, want what is missing", err)
	}
	c.RocketMQ.Group = "g"
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "config: application: missing; ") {
		t.Errorf("got %v, want what is missing", err)
	}
	c.Application, c.RocketMQ.Group, c.RocketMQ.NameServers = "a", "g", []string{"127.0.0.1:9876"}
	c.Store.Redis.Addrs, c.Topics = []string{"[::1]:6379"}, []config.Topic{{Name: "orders"}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if err := (config.Config{}).Validate(); err == nil {
		t.Error("the zero Config is valid")
	}
	if got := (config.RocketMQ{}).RetryBudget(); got != 0 {
		t.Errorf("got budget %v, want 0 without levels", got)
	}
}

func TestRetryBudget(t *testing.T) {
	m := config.Default().RocketMQ
	for retries, want := range map[int]time.Duration{
		1:       10 * time.Second,
		2:       40 * time.Second,
		6:       10*time.Minute + 40*time.Second,
		16:      4*time.Hour + 45*time.Minute + 40*time.Second,
		18:      8*time.Hour + 45*time.Minute + 40*time.Second,
		1 << 30: 876000 * time.Hour, // what durations are bounded by
	} {
		if m.MaxReconsumeTimes = retries; m.RetryBudget() != want {
			t.Errorf("%d retries: got %v, want %v", retries, m.RetryBudget(), want)
		}
	}
}

func ExampleLoad() {
	c, err := config.Load("testdata/consumer.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range c.Topics {
		p := c.PolicyOf(t)
		fmt.Println(t.Name, t.Key, p.Lease, p.MaxConsume, p.Keep, p.MaxAttempts, p.Outage)
	}
	fmt.Println(c.Store.Redis.Username, c.Store.Redis.Password)
	// Output:
	// orders json:order.no 30s 5m0s 72h0m0s 0 hold
	// shipments {tag}:{property:SHIPMENT_ID} 1m0s 5m0s 72h0m0s 5 run
	// dedup (secret)
}
