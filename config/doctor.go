package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// checkPolicy looks at the policy in effect for topic t: what its values mean
// together.
func (c Config) checkPolicy(path string, t Topic, r *report) {
	p := c.PolicyOf(t)
	lease := origin(path, "lease", t.Lease, c.Defaults.Lease)
	if !r.sound(lease, origin(path, "max_consume", t.MaxConsume, c.Defaults.MaxConsume)) {
		return
	}
	if p.Lease > p.MaxConsume {
		r.wrong(lease, short(p.Lease), "longer than max_consume, %s: raise the one or lower the other", short(p.MaxConsume))
		return
	}
	if r.sound("rocketmq.max_reconsume_times", "rocketmq.delay_levels") {
		c.checkRetries(path, t, r)
	}
	if wait := c.Store.Redis.ReadTimeout * redisTries; c.Store.Type == "redis" && wait >= p.Lease/3 {
		r.wrong("store.redis.read_timeout", short(c.Store.Redis.ReadTimeout),
			"a call that is tried %d times may take %s, want less than a third of the lease of topic %s, %s: "+
				"lower it or raise %s", redisTries, short(wait), t.Name, short(p.Lease), lease)
	}
}

// redisTries is how often a command that gets no answer is sent.
const redisTries = 4

// origin is the key that a value in effect comes from.
func origin(path, key string, own, base time.Duration) string {
	if own == 0 && base != 0 {
		return join("defaults", key)
	}
	return join(path, key)
}

// checkRetries compares claims with the time for which the broker delivers a
// message again.
func (c Config) checkRetries(path string, t Topic, r *report) {
	p, budget := c.PolicyOf(t), c.RocketMQ.RetryBudget()
	lease := origin(path, "lease", t.Lease, c.Defaults.Lease)
	if p.Lease >= budget {
		r.wrong(lease, short(p.Lease), "not below the time that all retries take, %s, so a message whose consumer crashed "+
			"ends in the dead-letter queue: raise rocketmq.max_reconsume_times or lower the lease", short(budget))
		return
	}
	if p.MaxConsume+p.Lease > budget {
		r.warn(origin(path, "max_consume", t.MaxConsume, c.Defaults.MaxConsume), "%s: all retries take %s, so a copy of a "+
			"message that runs longer ends in the dead-letter queue; raise rocketmq.max_reconsume_times or lower it",
			short(p.MaxConsume), short(budget))
	}
	if p.Keep < budget {
		r.warn(origin(path, "keep", t.Keep, c.Defaults.Keep), "%s: all retries take %s, so a copy may come after its key "+
			"was forgotten and run again", short(p.Keep), short(budget))
	}
	need := slices.Max(c.RocketMQ.DelayLevels) + p.Lease
	horizon := origin(path, "horizon", t.Horizon, c.Defaults.Horizon)
	switch {
	case p.Horizon >= need:
	case p.MaxAttempts > 0:
		r.wrong(horizon, short(p.Horizon), "attempts are forgotten between two retries and max_attempts is never reached: "+
			"want the longest delay level and the lease, %s, or more", short(need))
	default:
		r.warn(horizon, "%s: attempts are forgotten between two retries; better the longest delay level and the lease, %s, "+
			"or more", short(p.Horizon), short(need))
	}
}

// RetryBudget is for how long the broker delivers a message again before it goes
// to the dead-letter queue, when nobody asks for other delay levels. It is zero
// for a configuration without delay levels.
func (m RocketMQ) RetryBudget() time.Duration {
	last := len(m.DelayLevels) - 1
	if last < 0 {
		return 0
	}
	var sum float64 // which large settings do not overflow
	for i := range min(m.MaxReconsumeTimes, last) {
		sum += float64(m.DelayLevels[min(2+i, last)])
	}
	sum += float64(max(m.MaxReconsumeTimes-last, 0)) * float64(m.DelayLevels[last])
	return time.Duration(min(sum, float64(store.MaxDuration)))
}

// checkKey warns of keys that recognise less than one may think.
func (c Config) checkKey(field string, t Topic, r *report) {
	java := c.Store.javaCompatible()
	switch {
	case t.Key == "" && java:
		r.warn(field, "not set: message_id, as in the original, under which messages that a producer builds anew are not "+
			"recognised, and those of one batch of a Java producer may all pass for the first")
	case t.Key == "":
		r.warn(field, "not set: redeliveries are recognised, messages that a producer builds anew are not")
	case t.Key == "default" && java:
		r.warn(field, "default: the original has no such key, so neither recognises what the other has done; "+
			"want message_id, its default, or a key that both compute")
	}
}

// diagnose warns of what no single value shows.
func (c Config) diagnose(r *report) {
	for i, t := range c.Topics {
		path := fmt.Sprintf("topics[%d]", i)
		c.checkKey(path+".key", t, r)
		switch p := c.PolicyOf(t); {
		case p.MaxConsume >= c.RocketMQ.ConsumeTimeout:
			r.warn(origin(path, "max_consume", t.MaxConsume, c.Defaults.MaxConsume), "%s: not below rocketmq.consume_timeout, "+
				"%s, after which the client sends back a copy of a running message",
				short(p.MaxConsume), short(c.RocketMQ.ConsumeTimeout))
		case p.Outage == dedup.OutageHold && p.MaxConsume+p.Lease+p.BusyWait >= c.RocketMQ.ConsumeTimeout:
			r.warn(join(path, "outage"), "hold: rocketmq.consume_timeout, %s, leaves no time for that beside max_consume, "+
				"lease and busy_wait, so it means retry; raise it, lower max_consume or write retry",
				short(c.RocketMQ.ConsumeTimeout))
		}
	}
	if m := c.RocketMQ; m.ConsumeMessageBatchMaxSize > m.PullBatchSize {
		r.warn("rocketmq.consume_message_batch_max_size", "%d: a batch never holds more than rocketmq.pull_batch_size, %d",
			m.ConsumeMessageBatchMaxSize, m.PullBatchSize)
	}
	if c.RocketMQ.TLS {
		r.warn("rocketmq.tls", "the client encrypts, but does not verify whom it talks to")
	}
	c.Store.diagnose(r)
}
