package listener_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestEveryBadOptionIsReportedAtOnce(t *testing.T) {
	_, err := listener.NewDedupConcurrentListener("", nil, listener.Options{
		Broadcasting: true, MaxReconsumeTimes: -2, ConsumeTimeout: -1, BatchSize: 2000, Parallel: -1,
		LastWait: -1, DelayLevels: []time.Duration{0}, Policy: dedup.Policy{Lease: -1},
		Topics: []listener.Topic{{}, {Name: "a", Policy: dedup.Policy{Keep: -1}}, {Name: "a"}},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{
		"consumer group is empty", "store is nil", "Options.Broadcasting", "MaxReconsumeTimes is -2",
		"ConsumeTimeout is -1ns", "BatchSize is 2000", "Parallel is -1", "LastWait is -1ns", "DelayLevels[0] is 0s",
		"Options.Policy: store: invalid argument: Policy.Lease", "Topics[0].Name is empty",
		"Topics[1] (a): store: invalid argument: Policy.Keep", `Topics[2]: topic "a" is there twice`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
	_, err = listener.NewDedupConcurrentListener("g", nil, listener.Options{DelayLevels: []time.Duration{}})
	if err == nil || !strings.Contains(err.Error(), "DelayLevels is empty") {
		t.Errorf("no delay levels: got %v", err)
	}
}

func TestKeysThatNoMessageCanHaveAreRefused(t *testing.T) {
	mem := newRig(t, listener.Options{}).store
	_, err := listener.NewDedupConcurrentListener("g", mem, listener.Options{
		Key: listener.KeyFromProperty(""),
		Topics: []listener.Topic{
			{Name: "orders", Key: listener.KeyFromJSON("")},
			{Name: "refunds", Key: func(*primitive.MessageExt) (string, error) {
				t.Error("a key function was called without a message")
				return "", errBoom
			}},
			{Name: "shipments", Key: listener.KeyFromJSON("no")},
		},
	})
	want := "listener: Options.Key: key from property: the name is empty, want that of the property that holds the key\n" +
		"listener: Options.Topics[0] (orders): Key: key from JSON: the path is empty, want one such as order.no"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestATopicIsJudgedByWhatItTakesFromTheListener(t *testing.T) {
	mem := newRig(t, listener.Options{}).store
	_, err := listener.NewDedupConcurrentListener("g", mem, listener.Options{
		Policy: dedup.Policy{MaxConsume: time.Minute}, // each is sound alone
		Topics: []listener.Topic{{Name: "slow", Policy: dedup.Policy{Lease: time.Hour}}},
	})
	if err == nil || !strings.Contains(err.Error(), "(slow): store: invalid argument: Policy.MaxConsume (1m0s)") {
		t.Errorf("got %v, want the contradiction: every message of the topic would be deferred", err)
	}
	_, err = listener.NewDedupConcurrentListener("g", mem, listener.Options{
		Policy: dedup.Policy{MaxConsume: 2 * time.Hour}, Guard: quiet(),
		Topics: []listener.Topic{{Name: "slow", Policy: dedup.Policy{Lease: time.Hour}}},
	})
	if err != nil {
		t.Errorf("got %v, want a sound listener", err)
	}
}

func TestWarningsNameWhatFitsBadlyTogether(t *testing.T) {
	if got := (listener.Options{Key: listener.DefaultKey()}).Warnings(); len(got) != 0 {
		t.Errorf("defaults: got %v", got)
	}
	got := strings.Join(listener.Options{
		MaxReconsumeTimes: 1, ConsumeTimeout: time.Minute, DelayLevels: []time.Duration{time.Second, time.Hour},
		Topics: []listener.Topic{{Name: "orders", Policy: dedup.Policy{Lease: 3 * time.Hour, Keep: time.Second}}},
	}.Warnings(), "\n")
	for _, part := range []string{
		"topic orders: a message is retried for 1h0m0s only, but a crash blocks its key for a lease of 3h0m0s",
		"all other topics: a callback may take 10m0s, but after ConsumeTimeout (1m0s)",
		"a message may wait 1m40s on its last delivery, but after ConsumeTimeout (1m0s)",
		"topic orders: done is remembered for 1s, but a copy may come back for 1h0m0s",
		"topic orders: attempts are remembered for 3h0m0s, but a retry may come 4h0m0s later",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the warnings do not say %q:\n%s", part, got)
		}
	}
}

func TestWarningsStartWhereItGetsTight(t *testing.T) {
	fits := func() listener.Options { // everything touches, nothing is over
		return listener.Options{
			Key: listener.MessageID(), MaxReconsumeTimes: 2, DelayLevels: []time.Duration{time.Minute},
			ConsumeTimeout: time.Minute, LastWait: time.Minute - 1, Policy: dedup.Policy{
				Lease: 50 * time.Second, MaxConsume: time.Minute - 1, Keep: 2 * time.Minute, Horizon: 110 * time.Second,
				Outage: dedup.OutageRetry,
			},
		}
	}
	for name, c := range map[string]struct {
		change func(*listener.Options)
		want   string
	}{
		"nothing is over": {func(*listener.Options) {}, ""},
		"lease at the budget": {func(o *listener.Options) {
			o.MaxReconsumeTimes, o.DelayLevels = 5, []time.Duration{10 * time.Second}
		}, ""},
		"keep":        {func(o *listener.Options) { o.Policy.Keep-- }, "raise Keep"},
		"horizon":     {func(o *listener.Options) { o.Policy.Horizon-- }, "raise Horizon"},
		"max consume": {func(o *listener.Options) { o.Policy.MaxConsume++ }, "shorten MaxConsume"},
		"last wait":   {func(o *listener.Options) { o.LastWait++ }, "shorten LastWait"},
		"busy wait": {func(o *listener.Options) {
			o.Policy.MaxConsume, o.Policy.BusyWait = 50*time.Second, 10*time.Second
		}, "shorten BusyWait"},
		"time to wait": {func(o *listener.Options) {
			o.Policy.MaxConsume, o.Policy.BusyWait = 50*time.Second, 10*time.Second-1
		}, ""},
		"hold limit, because of the wait": {func(o *listener.Options) {
			o.Policy.Outage, o.Policy.MaxConsume, o.Policy.BusyWait = dedup.OutageHold, 50*time.Second, 1
			o.ConsumeTimeout, o.LastWait = 100*time.Second+time.Millisecond, 1
		}, "no message is held"},
		"hold limit": {func(o *listener.Options) {
			o.Policy.Outage, o.Policy.MaxConsume = dedup.OutageHold, 50*time.Second
			o.ConsumeTimeout, o.LastWait = 100*time.Second, 1
		}, "no message is held"},
		"time to hold": {func(o *listener.Options) {
			o.Policy.Outage, o.Policy.MaxConsume = dedup.OutageHold, 50*time.Second
			o.ConsumeTimeout, o.LastWait = 100*time.Second+time.Millisecond, 1
		}, ""},
		"a producer": {func(o *listener.Options) { o.LastWait++; o.Producer = &producer{} }, ""},
	} {
		o := fits()
		c.change(&o)
		got := strings.Join(o.Warnings(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestBadSettingsOfTheEngineAreRefused(t *testing.T) {
	o := listener.Options{Guard: dedup.Options{CallTimeout: -1}}
	if l, err := listener.NewDedupConcurrentListener("g", busy(0), o); l != nil || err == nil ||
		!strings.Contains(err.Error(), "CallTimeout") {
		t.Errorf("got %v, want it to name CallTimeout", err)
	}
}

func TestWithoutALoggerTheDefaultOneWarns(t *testing.T) {
	var lines strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	defer slog.SetDefault(before)
	if _, err := listener.NewDedupConcurrentListener("g", busy(0), listener.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lines.String(), "no key function") {
		t.Errorf("got %q", lines.String())
	}
}

func TestANilCallbackAcknowledgesNothing(t *testing.T) {
	r := newRig(t, listener.Options{})
	want(t, r.Each(nil), retry, 0, orders("1")...)
	want(t, r.Wrap(nil), retry, 0, orders("1")...)
	if err := r.Subscribe(subscriptions{}, "orders", consumer.MessageSelector{}, nil); err == nil {
		t.Error("a nil handler was subscribed")
	}
	want(t, r.Each(func(context.Context, *primitive.MessageExt) error { return nil }), retry, 0)
	if len(r.events) != 0 {
		t.Errorf("events: got %v, want none: nothing was delivered", r.events)
	}
}

func TestAForgottenKeyIsToldAtStart(t *testing.T) {
	keyed := listener.Topic{Name: "orders", Key: listener.KeyFromKeys()}
	for name, c := range map[string]struct {
		options listener.Options
		want    string
	}{
		"nothing chosen":      {listener.Options{}, "all topics: no key function"},
		"one topic forgotten": {listener.Options{Topics: []listener.Topic{keyed, {Name: "refunds"}}}, "topic refunds: no key"},
		"every topic chosen":  {listener.Options{Topics: []listener.Topic{keyed}}, ""},
		"chosen for all":      {listener.Options{Key: listener.MessageID()}, ""},
	} {
		got := strings.Join(c.options.Warnings(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestMessagesThatMissTheirKeyAreToldOncePerTopic(t *testing.T) {
	var lines strings.Builder
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := listener.NewDedupConcurrentListener("billing", mem, listener.Options{
		Topics: []listener.Topic{{Name: "orders", Key: listener.KeyFromJSON("no")}},
		Guard:  dedup.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))},
	})
	if err != nil {
		t.Fatal(err)
	}
	cb := l.Each(func(context.Context, *primitive.MessageExt) error { return nil })
	for _, topic := range []string{"orders", "orders", "oders", "oders"} {
		m := delivered(topic, "1", 0)
		m.Body = []byte(`{"number":1}`)
		consume(t, cb, m)
	}
	for text, want := range map[string]int{"no business key": 1, "Options.Topics does not name": 1, "topic=oders": 1} {
		if got := strings.Count(lines.String(), text); got != want {
			t.Errorf("%q: got %d times, want %d\n%s", text, got, want, &lines)
		}
	}
}
