package listener

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Warnings are the settings that work but fit badly together, one sentence with
// its remedy each. [NewDedupConcurrentListener] logs them.
func (o Options) Warnings() []string {
	unkeyed := o.unkeyed()
	o = o.withDefaults("")
	if len(o.DelayLevels) == 0 || slices.Min(o.DelayLevels) <= 0 {
		return nil // does not work at all
	}
	budget := levels(o.DelayLevels).budget(o.MaxReconsumeTimes)
	warnings := o.policyWarnings("all other topics", o.Policy, budget)
	if o.Producer == nil && o.LastWait >= o.ConsumeTimeout {
		warnings = append(warnings, fmt.Sprintf("a message may wait %v on its last delivery, but after ConsumeTimeout (%v) "+
			"the client sends it back, which buries it: shorten LastWait, raise ConsumeTimeout or give a Producer",
			o.LastWait, o.ConsumeTimeout))
	}
	if unkeyed != "" {
		warnings = append(warnings, unkeyed+": no key function, so that only copies made by the broker and the client "+
			"are recognised, not what a producer sends again: set Key, or choose DefaultKey() to say that this is meant")
	}
	for _, t := range o.Topics {
		warnings = append(warnings, o.policyWarnings("topic "+t.Name, t.Policy.Over(o.Policy), budget)...)
	}
	return warnings
}

func (o Options) policyWarnings(where string, p dedup.Policy, budget time.Duration) (found []string) {
	p = p.WithDefaults()
	warn := func(when bool, format string, args ...any) {
		if when {
			found = append(found, where+": "+fmt.Sprintf(format, args...))
		}
	}
	longest := o.DelayLevels[levels(o.DelayLevels).covering(store.MaxDuration)-1]
	warn(budget < p.Lease, "a message is retried for %v only, but a crash blocks its key for a lease of %v: "+
		"shorten the lease or raise MaxReconsumeTimes", budget, p.Lease)
	warn(p.MaxConsume >= o.ConsumeTimeout, "a callback may take %v, but after ConsumeTimeout (%v) the client sends "+
		"a copy back although it still runs: shorten MaxConsume or raise ConsumeTimeout", p.MaxConsume, o.ConsumeTimeout)
	warn(p.Outage == dedup.OutageHold && o.complete(p).Outage != dedup.OutageHold, "no message is held during an outage "+
		"of the store, because ConsumeTimeout (%v) leaves no time beside a callback of %v, a lease of %v and a wait of %v "+
		"for copies: raise ConsumeTimeout, shorten MaxConsume, or choose OutageRetry to say that this is meant",
		o.ConsumeTimeout, p.MaxConsume, p.Lease, p.BusyWait)
	warn(p.BusyWait > 0 && p.MaxConsume+p.BusyWait >= o.ConsumeTimeout && p.MaxConsume < o.ConsumeTimeout,
		"a copy may wait %v and then run for %v, but after ConsumeTimeout (%v) the client sends it back although it still "+
			"runs: shorten BusyWait or raise ConsumeTimeout", p.BusyWait, p.MaxConsume, o.ConsumeTimeout)
	warn(p.Keep < budget, "done is remembered for %v, but a copy may come back for %v: raise Keep", p.Keep, budget)
	warn(p.Horizon < longest+p.Lease, "attempts are remembered for %v, but a retry may come %v later: raise Horizon",
		p.Horizon, longest+p.Lease)
	return found
}

// unkeyed names a topic for which nobody chose a key.
func (o Options) unkeyed() string {
	if o.Key != nil {
		return ""
	}
	for _, t := range o.Topics {
		if t.Key == nil {
			return "topic " + t.Name
		}
	}
	if len(o.Topics) == 0 {
		return "all topics"
	}
	return ""
}
