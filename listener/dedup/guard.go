package dedup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The values that a zero field of [Options] stands for.
const (
	DefaultCallTimeout   = time.Second
	DefaultClaimTimeout  = 3 * time.Second
	DefaultSettleTimeout = 30 * time.Second
	DefaultJournalLimit  = 10_000
)

// MaxJournalLimit bounds [Options].JournalLimit.
const MaxJournalLimit = 1_000_000

// Options are the settings of a [Guard] that do not depend on the topic. Zero
// fields take the Default constants.
type Options struct {
	Observer Observer     // told of every delivery, and of losses if it is a LossObserver; optional
	Logger   *slog.Logger // nil means slog.Default()

	CallTimeout   time.Duration // bound of one call to the store
	ClaimTimeout  time.Duration // how long a claim is repeated before the outage policy decides
	SettleTimeout time.Duration // how long recording an end is repeated; a success under OutageHold waits up to HoldLimit

	// JournalLimit is how many successes may wait to be recorded. At that number
	// nothing is claimed any more; those of callbacks that run by then are added.
	JournalLimit int
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.ClaimTimeout == 0 {
		o.ClaimTimeout = DefaultClaimTimeout
	}
	if o.SettleTimeout == 0 {
		o.SettleTimeout = DefaultSettleTimeout
	}
	if o.JournalLimit == 0 {
		o.JournalLimit = DefaultJournalLimit
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		got  time.Duration
	}{
		{"CallTimeout", o.CallTimeout}, {"ClaimTimeout", o.ClaimTimeout}, {"SettleTimeout", o.SettleTimeout},
	} {
		if f.got < time.Millisecond || f.got > store.MaxDuration {
			errs = append(errs, fmt.Errorf("dedup: Options.%s is %v, want 1ms to %v (0 takes the default)",
				f.name, f.got, store.MaxDuration))
		}
	}
	if o.JournalLimit < 1 || o.JournalLimit > MaxJournalLimit {
		errs = append(errs, fmt.Errorf("dedup: Options.JournalLimit is %d, want 1 to %d (0 takes the default)",
			o.JournalLimit, MaxJournalLimit))
	}
	return errors.Join(errs...)
}

// Guard runs callbacks once per key. It is safe for concurrent use. Between
// deliveries it holds no goroutine and no timer, unless the store did not take
// some success: a goroutine goes on recording that, and [Guard.Flush] ends it. A
// renewal that is on its way when its last delivery ends is cancelled.
type Guard struct {
	store      store.Store
	renewer    store.Renewer    // nil when the store has none
	batcher    store.Batcher    // nil when the store has none
	parker     store.Parker     // nil when the store has none
	fencer     store.Fencer     // nil when the store has none
	transactor store.Transactor // nil when the store has none
	instant    bool
	options    Options
	epoch      time.Time
	schedule   *schedule
	circuit    *circuit
	journal    *journal
	copies     copies
	draining   chan struct{} // closed by StopWaiting
	drain      sync.Once     // closes draining
	quick      atomic.Bool   // the callbacks of the latest batch took less than patience
	repeats    repeats
	losses     losses
}

// New returns a guard on s. It reports every bad option at once and does not
// contact the store.
func New(s store.Store, o Options) (*Guard, error) {
	if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("dedup: store is nil: was an error of its constructor ignored?")
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	g := &Guard{store: s, options: o, epoch: time.Now(), draining: make(chan struct{})}
	g.renewer, _ = s.(store.Renewer)
	g.batcher, _ = s.(store.Batcher)
	g.parker, _ = s.(store.Parker)
	g.fencer, _ = s.(store.Fencer)
	g.transactor, _ = s.(store.Transactor)
	_, g.instant = s.(store.Instant)
	g.schedule, g.circuit = newSchedule(g), newCircuit(g.draining)
	g.journal = newJournal(g)
	return g, nil
}

// Delivery is one message as the guard sees it.
type Delivery struct {
	Key         store.Key
	Policy      Policy
	Redelivered bool // passed on to the [Event]
	Fallback    bool // passed on to the [Event]

	lead   *lead         // what copies wait for; nil when none may
	waited time.Duration // for a copy
}

// Do runs fn unless the effect of k is recorded or another owner is at it, and
// returns when fn has returned and its end is recorded. Only an outcome that is
// [Outcome.Finished] may be acknowledged. The error is [Result].Err.
//
// fn runs in a goroutine of its own, so that its panics and its runtime.Goexit
// become errors. Its context is that of the caller, cancelled with cause
// [ErrLeaseLost] or [ErrMaxConsume] when the claim is lost or over; Do waits
// for fn even then, because only fn knows what it has done. fn is not started
// any more when ctx has ended.
func (g *Guard) Do(ctx context.Context, k store.Key, p Policy, fn func(context.Context) error) (Outcome, error) {
	r := g.Deliver(ctx, Delivery{Key: k, Policy: p}, fn)
	return r.Outcome, r.Err
}

// Deliver is [Guard.Do] with all that is known about the end.
func (g *Guard) Deliver(ctx context.Context, d Delivery, fn func(context.Context) error) Result {
	if d.Policy.BusyWait > 0 && d.waits(around(ctx)) {
		if r, ended := g.join(ctx, &d); ended {
			return r
		}
	}
	var a attempt
	act := g.claim(ctx, &d, &a)
	switch act.kind {
	case actEnd:
		return g.report(ctx, &a)
	case actHold:
		m := &member{run: run{attempt: a}, act: act}
		g.waitOut(ctx, []*member{m}, func([]*member) {})
		return g.drive(ctx, &m.run, m.act, fn)
	}
	return g.drive(ctx, &run{attempt: a}, act, fn)
}

// drive takes r from the answer to its claim to its end.
func (g *Guard) drive(ctx context.Context, r *run, act action, fn func(context.Context) error) Result {
	if act.kind == actRun || act.kind == actVerify {
		if act = g.hold(ctx, r, act); act.kind == actRun {
			act = g.returned(r, call(&r.ctx, fn))
		}
	}
	return g.conclude(ctx, r, act)
}

// Report tells the observer and the log of a delivery that an adapter ended by
// itself, such as a copy inside a batch or a message without a usable key.
func (g *Guard) Report(ctx context.Context, d Delivery, r Result) Result {
	a := attempt{key: d.Key, redelivered: d.Redelivered, fallback: d.Fallback, waitTime: d.waited}
	a.machine.result = r
	return g.report(ctx, &a)
}

// Stats are gauges of a guard.
type Stats struct {
	Running  int // callbacks and Verifiers that hold a claim or run unprotected
	Orphaned int // of those, the ones that ignored their cancelled context for a whole lease
	Held     int // deliveries that wait for the store to answer again, by OutageHold
	Journal  int // successes that could not be recorded yet
	Waiting  int // copies that wait for what this process is at, by BusyWait
}

// Stats returns the gauges of this moment.
func (g *Guard) Stats() Stats {
	s := g.schedule.stats()
	s.Held, s.Journal = g.circuit.count(), int(g.journal.size.Load())
	s.Waiting = int(g.copies.waiting.Load())
	return s
}

func (g *Guard) now() time.Duration { return time.Since(g.epoch) }
