package open

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Options are what a configuration cannot say. The zero value works.
type Options struct {
	Verifiers map[string]dedup.Verifier // by topic
	Producer  listener.Producer         // see [listener.Options]; that of [Producer], started, will do
	Guard     dedup.Options             // observer, logger and timeouts of the engine
}

// Listener returns the listener for the push consumer that [PushConsumer] makes
// of the same configuration. It does not contact s.
func Listener(c config.Config, s store.Store, o Options) (*listener.DedupConcurrentListener, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := listenerOptions(c, o)
	if err != nil {
		return nil, err
	}
	return listener.NewDedupConcurrentListener(c.RocketMQ.Group, s, options)
}

// How long one call, and a claim with its repeats, may take with a store whose
// server waits for a row that somebody keeps locked, up to two seconds, before it
// says so: the key is busy then. A guard with less time would take that for an
// outage.
const (
	lockedCallTimeout  = 3 * time.Second
	lockedClaimTimeout = 6 * time.Second
)

func listenerOptions(c config.Config, o Options) (listener.Options, error) {
	m := c.RocketMQ
	options := listener.Options{
		Application:       c.Application,
		Namespace:         m.Namespace,
		MaxReconsumeTimes: int32(m.MaxReconsumeTimes),
		ConsumeTimeout:    m.ConsumeTimeout,
		BatchSize:         m.ConsumeMessageBatchMaxSize,
		DelayLevels:       m.DelayLevels,
		Parallel:          m.Parallel,
		Policy:            c.PolicyOf(config.Topic{}),
		Producer:          o.Producer,
		Guard:             o.Guard,
	}
	if c.Store.Type == "mysql" {
		options.Guard.CallTimeout = cmp.Or(options.Guard.CallTimeout, lockedCallTimeout)
		options.Guard.ClaimTimeout = cmp.Or(options.Guard.ClaimTimeout, lockedClaimTimeout)
	}
	if options.Guard.JournalLimit == 0 {
		options.Guard.JournalLimit = c.JournalLimit
	}
	// A topic's policy is complete, and its 0 lifts the limit: nothing may be
	// put in its place.
	options.Policy.MaxAttempts = 0
	var errs []error
	known := map[string]bool{}
	for _, t := range c.Topics {
		key, err := listener.ParseKey(c.KeyOf(t))
		errs = append(errs, err)
		policy := c.PolicyOf(t)
		policy.Verifier = o.Verifiers[t.Name]
		options.Topics = append(options.Topics, listener.Topic{Name: t.Name, Key: key, Policy: policy})
		known[t.Name] = true
	}
	for topic := range o.Verifiers {
		if !known[topic] {
			errs = append(errs, fmt.Errorf("open: Options.Verifiers: topic %q is not in the configuration", topic))
		}
	}
	return options, errors.Join(errs...)
}
