package sweep

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Loop keeps one store swept. Its methods are safe for concurrent use.
type Loop struct {
	sweeper store.Sweeper
	options Options

	running atomic.Bool

	mu     sync.Mutex // guards all below
	stats  Stats
	turned chan struct{} // closed, and made anew, when stats.Paused changes
}

// Stats tell what a loop has done since it was made.
type Stats struct {
	Removed  int64     // records
	Passes   int64     // steps that left nothing to remove, or found another node at it
	LastPass time.Time // when the latest of them ended, zero before the first
	Failures int       // steps that have failed since one last succeeded
	Err      error     // of the latest step, nil if it succeeded
	Paused   bool
}

// New returns a loop that does nothing before Run, or an error that joins every
// option that is out of bounds and names its remedy.
func New(s store.Sweeper, o Options) (*Loop, error) {
	o = o.withDefaults()
	err := o.validate()
	if s == nil {
		err = errors.Join(errors.New("sweep: the store is nil, want one that is a store.Sweeper"), err)
	}
	if err != nil {
		return nil, err
	}
	return &Loop{sweeper: s, options: o, turned: make(chan struct{})}, nil
}

// Run sweeps until ctx ends, which cuts a step in progress short, and then
// returns nil. It begins at once. A step that fails is repeated after a second,
// then after twice as long each time, up to Every. Run returns an error at once
// if the loop is running already.
func (l *Loop) Run(ctx context.Context) error {
	if !l.running.CompareAndSwap(false, true) {
		return errors.New("sweep: the loop is running already: run it once")
	}
	defer l.running.Store(false)
	var rest time.Duration
	for l.rest(ctx, rest) {
		rest = l.step(ctx)
	}
	return nil
}

// Pause keeps the loop from beginning another step; one in progress goes on to
// its end. It may be called before Run, and again.
func (l *Loop) Pause() { l.turn(true) }

// Resume ends a Pause. The loop goes on as soon as the rest is over that it was
// having, the time of the Pause included.
func (l *Loop) Resume() { l.turn(false) }

// Stats returns what the loop has done by now.
func (l *Loop) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

func (l *Loop) turn(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stats.Paused != paused {
		l.stats.Paused = paused
		close(l.turned)
		l.turned = make(chan struct{})
	}
}

func (l *Loop) paused() (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats.Paused, l.turned
}

// rest waits for d, and then for the end of a pause. It reports whether to go on.
func (l *Loop) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for over := false; ctx.Err() == nil; {
		paused, turned := l.paused()
		if over && !paused {
			return true
		}
		select {
		case <-timer.C:
			over = true
		case <-turned:
		case <-ctx.Done():
		}
	}
	return false
}

// step removes one batch and returns how long to rest.
func (l *Loop) step(ctx context.Context) time.Duration {
	call, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	began := time.Now()
	n, err := l.sweeper.Sweep(call, l.options.Batch)
	took := time.Since(began)
	due := time.Duration(float64(took) * (1/l.options.Share - 1))
	return max(due, l.note(ctx, n, err))
}

// jittered is half to one and a half of d.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d) }
