package reconcile

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Store is what a reconciler needs of a store. Every store of this module that
// lists its records has it.
type Store interface {
	store.Store
	store.Scanner
	store.Getter
	store.Fencer
}

// Reconciler ends the overdue claims of one store. Its methods are safe for
// concurrent use.
type Reconciler struct {
	store   Store
	options Options

	// Only the one who runs uses these.
	after string // where the next pass goes on
	known memory

	running atomic.Bool

	mu    sync.Mutex // guards stats
	stats Stats
}

var errRunning = errors.New("reconcile: the reconciler is running already: run it once")

// Stats tell what a pass has done, or a reconciler since it was made.
type Stats struct {
	Passes    int64 // begun
	Found     int64 // overdue records
	Completed int64 // of them: happened
	Retried   int64 // not happened, and Retry succeeded
	GivenUp   int64 // not happened, and Retry had succeeded RetryAgain times
	Unknown   int64 // the Verifier could not tell, or the key is known by a digest only
	Skipped   int64 // somebody else was at it meanwhile, or no run of it had begun
	Failed    int64 // the store or Retry failed, so that it will be found again

	Oldest   time.Duration // the longest overdue of GivenUp and Unknown, as far as known, in the latest pass
	LastPass time.Time     // when it ended, zero before the first
	Err      error         // its latest failure, nil if there was none
}

// New returns a reconciler that does nothing before Run, or an error that joins
// every option that is missing or out of bounds and names its remedy.
func New(s Store, o Options) (*Reconciler, error) {
	o = o.withDefaults()
	err := o.validate()
	if s == nil {
		err = errors.Join(errors.New("reconcile: the store is nil, want one that lists its records"), err)
	}
	if err != nil {
		return nil, err
	}
	return &Reconciler{store: s, options: o, known: newMemory(remembered)}, nil
}

// Run makes a pass at once, and others with pauses of about Every, until ctx
// ends. It then gives the claim back that it holds, within Timeout, and returns
// nil. It returns an error at once if the reconciler is running already.
func (r *Reconciler) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer r.running.Store(false)
	for ctx.Err() == nil {
		r.pass(ctx)
		rest(ctx, jittered(r.options.Every))
	}
	return nil
}

// Pass makes one pass and tells what it did. It returns the latest failure of
// the pass, or the error of ctx if that ended first. One key that fails does not
// keep others from their end, three in a row end the pass. It returns an error at
// once if the reconciler is running already.
func (r *Reconciler) Pass(ctx context.Context) (Stats, error) {
	if !r.running.CompareAndSwap(false, true) {
		return Stats{}, errRunning
	}
	defer r.running.Store(false)
	s := r.pass(ctx)
	if err := ctx.Err(); err != nil {
		return s, err
	}
	return s, s.Err
}

// Stats returns what the passes have done by now, the one in progress left out.
func (r *Reconciler) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// count adds a pass and returns the stats before it.
func (r *Reconciler) count(s Stats) (before Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.stats
	s.Passes += before.Passes
	s.Found += before.Found
	s.Completed += before.Completed
	s.Retried += before.Retried
	s.GivenUp += before.GivenUp
	s.Unknown += before.Unknown
	s.Skipped += before.Skipped
	s.Failed += before.Failed
	r.stats = s
	return before
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// jittered is half to one and a half of d.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d) }
