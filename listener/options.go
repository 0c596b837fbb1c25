package listener

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The values that a zero field of [Options] stands for. The first three are the
// client's own defaults.
const (
	DefaultMaxReconsumeTimes = 16
	DefaultConsumeTimeout    = 15 * time.Minute
	DefaultBatchSize         = 1
	DefaultParallel          = 16
	DefaultLastWait          = 100 * time.Second
)

// DefaultDelayLevels is RocketMQ's own table (messageDelayLevel of the broker).
func DefaultDelayLevels() []time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	return []time.Duration{
		1 * s, 5 * s, 10 * s, 30 * s, 1 * m, 2 * m, 3 * m, 4 * m, 5 * m, 6 * m, 7 * m, 8 * m, 9 * m, 10 * m,
		20 * m, 30 * m, 1 * h, 2 * h,
	}
}

// Topic says how the messages of one topic are treated.
type Topic struct {
	Name   string       // as subscribed, without namespace
	Key    KeyFunc      // nil: Options.Key
	Policy dedup.Policy // zero: Options.Policy
}

// Producer sends messages; rocketmq.Producer is one. It must have an instance
// name of its own and no namespace.
type Producer interface {
	SendSync(ctx context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error)
}

// Options are the settings of a listener. The zero value works for a consumer
// with the client's defaults.
type Options struct {
	Application string       // first part of every key; "": the consumer group
	Namespace   string       // what the consumer was given by WithNamespace
	Topics      []Topic      // topics that need more than Key and Policy
	Key         KeyFunc      // for all other topics; nil: DefaultKey
	Policy      dedup.Policy // for all other topics

	// What the consumer was given, repeated: the client does not tell.
	MaxReconsumeTimes int32           // WithMaxReconsumeTimes; 0 and -1: 16
	ConsumeTimeout    time.Duration   // WithConsumeTimeout
	BatchSize         int             // WithConsumeMessageBatchMaxSize
	Broadcasting      bool            // WithConsumerModel(BroadCasting); refused, because it is not supported
	DelayLevels       []time.Duration // messageDelayLevel of the broker

	Parallel int           // how many messages of one batch Each runs at once
	LastWait time.Duration // how long a message that may not be sent back again waits for its key
	Producer Producer      // re-publishes such messages and parks dead ones of a batch; optional

	Guard dedup.Options // observer, logger and timeouts of the engine
}

func (o Options) withDefaults(group string) Options {
	if o.Application == "" {
		o.Application = group
	}
	if o.Key == nil {
		o.Key = DefaultKey()
	}
	if o.MaxReconsumeTimes == 0 || o.MaxReconsumeTimes == -1 {
		o.MaxReconsumeTimes = DefaultMaxReconsumeTimes
	}
	if o.ConsumeTimeout == 0 {
		o.ConsumeTimeout = DefaultConsumeTimeout
	}
	if o.BatchSize == 0 {
		o.BatchSize = DefaultBatchSize
	}
	if o.DelayLevels == nil {
		o.DelayLevels = DefaultDelayLevels()
	}
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.LastWait == 0 {
		o.LastWait = DefaultLastWait
	}
	return o
}

// validate reports every bad field at once. It expects the defaults filled in.
func (o Options) validate(group string, s store.Store) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("listener: "+format, args...))
		}
	}
	check(group != "", "the consumer group is empty: pass the group of the push consumer")
	check(s != nil, "the store is nil")
	check(!o.Broadcasting, "Options.Broadcasting: broadcasting consumers drop what they cannot finish; use clustering")
	check(o.MaxReconsumeTimes > 0, "Options.MaxReconsumeTimes is %d, want 1 or more, or 0 for the default",
		o.MaxReconsumeTimes)
	check(o.ConsumeTimeout > 0, "Options.ConsumeTimeout is %v, want more than 0", o.ConsumeTimeout)
	check(o.BatchSize >= 1 && o.BatchSize <= 1024, "Options.BatchSize is %d, want 1 to 1024", o.BatchSize)
	check(o.Parallel >= 1, "Options.Parallel is %d, want 1 or more", o.Parallel)
	check(o.LastWait > 0, "Options.LastWait is %v, want more than 0", o.LastWait)
	check(len(o.DelayLevels) > 0, "Options.DelayLevels is empty, want the broker's messageDelayLevel")
	for i, d := range o.DelayLevels {
		check(d > 0 && d <= store.MaxDuration, "Options.DelayLevels[%d] is %v, want more than 0, up to %v",
			i, d, store.MaxDuration)
	}
	if wrong := unusableKey(o.Key); wrong != "" {
		errs = append(errs, errors.New("listener: Options.Key: "+wrong))
	}
	if err := o.Policy.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("listener: Options.Policy: %w", err))
	}
	return errors.Join(append(errs, o.validateTopics()...)...)
}

// complete is p as the engine gets it: a message is held no longer than leaves
// its callback its time before the client sends it back.
func (o Options) complete(p dedup.Policy) dedup.Policy {
	p = p.WithDefaults()
	room := o.ConsumeTimeout - p.MaxConsume - p.Lease - p.BusyWait
	switch {
	case room >= store.MinDuration:
		p.HoldLimit = min(p.HoldLimit, room)
	case p.Outage == dedup.OutageHold:
		p.Outage = dedup.OutageRetry
	}
	return p
}

func (o Options) validateTopics() (errs []error) {
	base := o.Policy
	if base.Validate() != nil {
		base = dedup.Policy{} // reported already
	}
	seen := map[string]bool{}
	for i, t := range o.Topics {
		if t.Name == "" {
			errs = append(errs, fmt.Errorf("listener: Options.Topics[%d].Name is empty", i))
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("listener: Options.Topics[%d]: topic %q is there twice", i, t.Name))
		}
		seen[t.Name] = true
		if wrong := unusableKey(t.Key); wrong != "" {
			errs = append(errs, fmt.Errorf("listener: Options.Topics[%d] (%s): Key: %s", i, t.Name, wrong))
		}
		if err := t.Policy.Over(base).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("listener: Options.Topics[%d] (%s): %w", i, t.Name, err))
		}
	}
	return errs
}
