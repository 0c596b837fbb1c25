package dedup

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The values that a zero field of [Policy] stands for.
const (
	DefaultLease      = 30 * time.Second
	DefaultMaxConsume = 10 * time.Minute
	DefaultKeep       = 24 * time.Hour
	DefaultHorizon    = 3 * time.Hour
	DefaultHoldLimit  = 100 * time.Second
)

// MinLease is the shortest lease accepted: below it scheduling noise alone
// would lose claims.
const MinLease = 10 * time.Millisecond

// Outage says what to do with a message whose key cannot be claimed because the
// store does not answer. The zero Outage takes the default, OutageHold.
type Outage uint8

const (
	// OutageHold keeps the message waiting, up to HoldLimit, until the store
	// answers: nothing runs unprotected, an outage shorter than that costs none
	// of the broker's retries, and no more messages come in meanwhile.
	OutageHold Outage = iota + 1
	// OutageRetry defers the message: nothing runs unprotected, and each
	// delivery during the outage costs one of the broker's retries.
	OutageRetry
	// OutageRun runs the callback without a claim, counts it, and tries to
	// record the success afterwards. Only for callbacks that may run twice.
	OutageRun
)

// String is the policy's name in configuration files.
func (o Outage) String() string {
	switch o {
	case OutageHold:
		return "hold"
	case OutageRetry:
		return "retry"
	case OutageRun:
		return "run"
	}
	return fmt.Sprintf("Outage(%d)", uint8(o))
}

// Verifier looks up whether the effect of a key is there. A [Policy] has it asked
// before a take-over runs, because the earlier owner may have died after its effect
// and before recording it, and after a [Loss] before first runs, too, which may not
// be the first. It runs under the renewed lease of the claim. The same function may
// be the Verifier of a reconcile.Reconciler.
type Verifier = store.Verifier

// Finding is a Verifier's answer. The zero Finding is Unknown.
type Finding = store.Finding

// The answers of a Verifier.
const (
	Unknown     = store.FindingUnknown // cannot tell; the message is deferred
	Happened    = store.Happened       // the effect is there; the key is completed without a run
	NotHappened = store.NotHappened    // the effect is not there; the callback runs
)

// Policy says how the messages of one topic are treated. Zero fields take the
// Default constants.
type Policy struct {
	Lease      time.Duration // how long a claim holds without renewal; renewed every third of it
	MaxConsume time.Duration // the longest a callback may hold a key, renewals included
	Keep       time.Duration // how long done is remembered
	Horizon    time.Duration // how long the attempts of a lapsed claim are remembered; ≥ longest delay + lease

	MaxAttempts int           // runs after which a key that never completes is parked; 0 = no limit
	Outage      Outage        // what to do while the store does not answer
	HoldLimit   time.Duration // with OutageHold: how long a message waits for the store, from its delivery on
	BusyWait    time.Duration // how long a copy waits for the one that this process is at; 0: it is deferred at once
	Verifier    Verifier      // asked before a take-over runs, and after a Loss before any run; optional
}

// FixedLease is the policy of the Java original: a claim holds for maxConsume
// and is never renewed. A crash then blocks its key for that long, and a
// callback that takes longer runs twice.
func FixedLease(maxConsume time.Duration) Policy {
	return Policy{Lease: maxConsume, MaxConsume: maxConsume}
}

// WithDefaults returns p with every zero field filled in. A MaxConsume below
// the default lease shortens the lease to it.
func (p Policy) WithDefaults() Policy {
	if p.MaxConsume == 0 {
		p.MaxConsume = max(DefaultMaxConsume, p.Lease)
	}
	if p.Lease == 0 {
		p.Lease = min(DefaultLease, p.MaxConsume)
	}
	if p.Keep == 0 {
		p.Keep = DefaultKeep
	}
	if p.Horizon == 0 {
		p.Horizon = max(DefaultHorizon, p.Lease)
	}
	if p.Outage == 0 {
		p.Outage = OutageHold
	}
	if p.HoldLimit == 0 {
		p.HoldLimit = DefaultHoldLimit
	}
	return p
}

// Over returns p with every zero field taken from base: a topic's own settings
// over those of its listener.
func (p Policy) Over(base Policy) Policy {
	p.Lease = cmp.Or(p.Lease, base.Lease)
	p.MaxConsume = cmp.Or(p.MaxConsume, base.MaxConsume)
	p.Keep = cmp.Or(p.Keep, base.Keep)
	p.Horizon = cmp.Or(p.Horizon, base.Horizon)
	p.MaxAttempts = cmp.Or(p.MaxAttempts, base.MaxAttempts)
	p.Outage = cmp.Or(p.Outage, base.Outage)
	p.HoldLimit = cmp.Or(p.HoldLimit, base.HoldLimit)
	p.BusyWait = cmp.Or(p.BusyWait, base.BusyWait)
	if p.Verifier == nil {
		p.Verifier = base.Verifier
	}
	return p
}

// Validate reports every field of the filled-in policy that is out of bounds,
// with what is allowed. Its errors wrap [store.ErrInvalid].
func (p Policy) Validate() error {
	p = p.WithDefaults()
	if p.sound() {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: Policy."+format, append([]any{store.ErrInvalid}, args...)...))
	}
	for _, f := range []struct {
		name string
		got  time.Duration
		low  time.Duration
	}{
		{"Lease", p.Lease, MinLease}, {"MaxConsume", p.MaxConsume, MinLease},
		{"Keep", p.Keep, store.MinDuration}, {"Horizon", p.Horizon, store.MinDuration},
		{"HoldLimit", p.HoldLimit, store.MinDuration}, {"BusyWait", p.BusyWait, 0},
	} {
		if f.got < f.low || f.got > store.MaxDuration {
			bad("%s is %v, want %v to %v", f.name, f.got, f.low, store.MaxDuration)
		}
	}
	if p.MaxConsume < p.Lease {
		bad("MaxConsume (%v) is shorter than Lease (%v): raise the one or lower the other", p.MaxConsume, p.Lease)
	}
	if p.MaxAttempts < 0 {
		bad("MaxAttempts is %d, want 0 (no limit) or more", p.MaxAttempts)
	}
	if p.Outage < OutageHold || p.Outage > OutageRun {
		bad("Outage is %v, want OutageHold, OutageRetry or OutageRun", p.Outage)
	}
	return errors.Join(errs...)
}

// sound is Validate without its messages, for the path of every message.
func (p *Policy) sound() bool {
	within := func(d, low time.Duration) bool { return d >= low && d <= store.MaxDuration }
	return within(p.Lease, MinLease) && within(p.MaxConsume, p.Lease) && p.MaxAttempts >= 0 &&
		within(p.Keep, store.MinDuration) && within(p.Horizon, store.MinDuration) &&
		within(p.HoldLimit, store.MinDuration) && within(p.BusyWait, 0) && p.Outage >= OutageHold && p.Outage <= OutageRun
}
