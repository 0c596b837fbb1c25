package open_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// unusual has no value that is a default of anything.
func unusual() config.Config {
	c := configured()
	c.Application = "billing-app"
	c.RocketMQ.Group = "billing"
	c.RocketMQ.Namespace = "shop"
	c.RocketMQ.InstanceName = "one"
	c.RocketMQ.AccessKey, c.RocketMQ.SecretKey = "AK", secret
	c.RocketMQ.ConsumeMessageBatchMaxSize = 7
	c.RocketMQ.PullBatchSize = 21
	c.RocketMQ.ConsumeGoroutines = 3
	c.RocketMQ.Parallel = 5
	c.RocketMQ.ConsumeTimeout = 77 * time.Second
	c.RocketMQ.MaxReconsumeTimes = 9
	c.RocketMQ.DelayLevels = []time.Duration{time.Second, time.Minute, time.Hour}
	c.Defaults = config.Policy{Lease: 20 * time.Second, MaxConsume: time.Minute, MaxAttempts: 4}
	c.Topics = []config.Topic{
		{Name: "orders", Key: "keys", Tags: "paid || refunded"},
		{Name: "refunds", Policy: config.Policy{Lease: 40 * time.Second, MaxAttempts: config.NoLimit, Outage: "run"}},
	}
	return c
}

// given is what the client's options are after all of ours: a struct whose type
// it keeps to itself.
func given(options []consumer.Option) reflect.Value {
	into := reflect.New(reflect.TypeFor[consumer.Option]().In(0).Elem())
	for _, o := range options {
		reflect.ValueOf(o).Call([]reflect.Value{into})
	}
	return into.Elem()
}

func TestTheConsumerIsGivenWhatTheListenerRepeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config.Config{"defaults": configured(), "all set": unusual()} {
		client := given(open.ConsumerOptions(c))
		l, err := open.ListenerOptions(c, open.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for field, want := range map[string]any{
			"GroupName":                  c.RocketMQ.Group,
			"Namespace":                  l.Namespace,
			"MaxReconsumeTimes":          l.MaxReconsumeTimes,
			"ConsumeTimeout":             l.ConsumeTimeout,
			"ConsumeMessageBatchMaxSize": l.BatchSize,
			"ConsumerModel":              consumer.Clustering,
			"FromWhere":                  consumer.ConsumeFromFirstOffset,
			"ConsumeGoroutineNums":       c.RocketMQ.ConsumeGoroutines,
			"ConsumeOrderly":             false,
			"Credentials": primitive.Credentials{
				AccessKey: c.RocketMQ.AccessKey, SecretKey: c.RocketMQ.SecretKey.Reveal(),
			},
		} {
			if got := client.FieldByName(field).Interface(); got != want {
				t.Errorf("%s: %s: got %v, want %v", name, field, got, want)
			}
		}
		pull := client.FieldByName("PullBatchSize").Addr().Interface().(interface{ Load() int32 }).Load()
		if want := int32(c.RocketMQ.PullBatchSize); pull != want {
			t.Errorf("%s: PullBatchSize: got %d, want %d", name, pull, want)
		}
		if !slices.Equal(l.DelayLevels, c.RocketMQ.DelayLevels) || l.Application != c.Application {
			t.Errorf("%s: got %v, %s, want %v, %s", name, l.DelayLevels, l.Application, c.RocketMQ.DelayLevels, c.Application)
		}
		if l.Parallel != c.RocketMQ.Parallel {
			t.Errorf("%s: Parallel: got %d, want %d", name, l.Parallel, c.RocketMQ.Parallel)
		}
	}
}

func TestEveryConsumerHasAnInstanceNameOfItsOwn(t *testing.T) {
	t.Parallel()
	c := configured()
	name := func() string { return given(open.ConsumerOptions(c)).FieldByName("InstanceName").String() }
	if a, b := name(), name(); a == b || a == "DEFAULT" {
		t.Errorf("got %q and %q, want two names", a, b)
	}
	c.RocketMQ.InstanceName = "mine"
	if got := name(); got != "mine" {
		t.Errorf("got %q, want the configured name", got)
	}
}

func TestTopicsKeepTheirPolicies(t *testing.T) {
	t.Parallel()
	l, err := open.ListenerOptions(unusual(), open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []dedup.Policy{
		{Lease: 20 * time.Second, MaxConsume: time.Minute, MaxAttempts: 4},
		{Lease: 40 * time.Second, MaxConsume: time.Minute, Outage: dedup.OutageRun}, // no limit
	}
	for i, topic := range l.Topics {
		// As the listener does it: whatever it has for other topics must not show.
		got := topic.Policy.Over(l.Policy).WithDefaults()
		if w := want[i].WithDefaults(); !reflect.DeepEqual(got, w) {
			t.Errorf("%s: got %+v, want %+v", topic.Name, got, w)
		}
	}
}

func TestTheJournalIsAsLongAsTheConfigurationSays(t *testing.T) {
	t.Parallel()
	c := unusual()
	c.JournalLimit = 7
	for own, want := range map[int]int{0: 7, 3: 3} {
		l, err := open.ListenerOptions(c, open.Options{Guard: dedup.Options{JournalLimit: own}})
		if err != nil || l.Guard.JournalLimit != want {
			t.Errorf("options say %d: got %d, %v; want %d", own, l.Guard.JournalLimit, err, want)
		}
	}
}

func TestTagsBecomeSelectors(t *testing.T) {
	t.Parallel()
	for tags, want := range map[string]string{"": "*", "paid || refunded": "paid || refunded"} {
		got := open.Selector(config.Topic{Tags: tags})
		if got.Type != consumer.TAG || got.Expression != want {
			t.Errorf("%q: got %+v, want the tags %q", tags, got, want)
		}
	}
}

func TestAVerifierMustBelongToATopic(t *testing.T) {
	t.Parallel()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(context.Context, store.Key) (dedup.Finding, error) { return dedup.Happened, nil }
	o := open.Options{Verifiers: map[string]dedup.Verifier{"orders": verify}}
	if l, err := open.ListenerOptions(configured(), o); err != nil || l.Topics[0].Policy.Verifier == nil {
		t.Errorf("got %v, want the topic's verifier", err)
	}
	o.Verifiers["oders"] = verify
	if _, err := open.Listener(configured(), records, o); err == nil || !strings.Contains(err.Error(), `"oders"`) {
		t.Errorf("got %v, want an error about the topic that is not there", err)
	}
}

func TestEveryFunctionRefusesAnInvalidConfiguration(t *testing.T) {
	t.Parallel()
	c := configured()
	c.RocketMQ.Group = ""
	_, _, errStore := open.Store(t.Context(), c)
	_, errListener := open.Listener(c, nil, open.Options{})
	_, errConsumer := open.PushConsumer(c)
	_, errProducer := open.Producer(c)
	for name, err := range map[string]error{
		"Store": errStore, "Listener": errListener, "PushConsumer": errConsumer, "Producer": errProducer,
		"RetryTopic": open.RetryTopic(t.Context(), c), "NameServers": open.NameServers(t.Context(), c),
	} {
		if problem := (config.Problem{}); !errors.As(err, &problem) || problem.Field != "rocketmq.group" {
			t.Errorf("%s: got %v, want the problem", name, err)
		}
	}
}

func TestHostNamesOfNameServersAreLookedUp(t *testing.T) {
	t.Parallel()
	hosts := map[string][]string{"a": {"10.0.0.2", "::2", "10.0.0.1"}, "six": {"fe80::1"}}
	r := open.Resolver(func(_ context.Context, host string) (found []net.IPAddr, err error) {
		for _, ip := range hosts[host] {
			found = append(found, net.IPAddr{IP: net.ParseIP(ip)})
		}
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}, "a:1", "lost:2", "six:3")
	want := []string{"10.0.0.1:1", "10.0.0.2:1", "[fe80::1]:3"}
	if got := r.Resolve(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	clear(hosts)
	if got := r.Resolve(); !slices.Equal(got, want) {
		t.Errorf("without DNS: got %v, want the last answer %v", got, want)
	}
}

func TestANameServerThatCannotBeLookedUpIsNamed(t *testing.T) {
	t.Parallel()
	c := configured()
	c.RocketMQ.NameServers = []string{"no-such-host.invalid:9876"}
	_, err := open.PushConsumer(c)
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq.name_servers: ") ||
		!strings.Contains(err.Error(), "no-such-host.invalid") {
		t.Errorf("got %v, want an error about the name server", err)
	}
}

func TestAGuardOverMySQLHasTheTimeThatALockedRowTakes(t *testing.T) {
	t.Parallel()
	c := configured()
	for kind, want := range map[string]time.Duration{"mysql": 3 * time.Second, "redis": 0} {
		c.Store.Type = kind
		o, err := open.ListenerOptions(c, open.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if o.Guard.CallTimeout != want || o.Guard.ClaimTimeout != 2*want {
			t.Errorf("%s: got %v and %v, want %v and twice that", kind, o.Guard.CallTimeout, o.Guard.ClaimTimeout, want)
		}
	}
	c.Store.Type = "mysql"
	o, err := open.ListenerOptions(c, open.Options{Guard: dedup.Options{CallTimeout: time.Second, ClaimTimeout: time.Minute}})
	if err != nil || o.Guard.CallTimeout != time.Second || o.Guard.ClaimTimeout != time.Minute {
		t.Errorf("got %v and %v, %v, want what the program says", o.Guard.CallTimeout, o.Guard.ClaimTimeout, err)
	}
}
