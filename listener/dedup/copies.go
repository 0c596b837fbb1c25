package dedup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// copies knows the deliveries in this process of which a copy may wait for the
// end, by BusyWait. One at a time leads for its key.
type copies struct {
	waiting atomic.Int32

	mu    sync.Mutex
	leads map[store.Key]*lead // guarded by mu
}

// lead is a delivery that others may wait for.
type lead struct {
	done     chan struct{}
	finished bool // set before done is closed
}

// enter makes the caller lead for k, or returns who does.
func (c *copies) enter(k store.Key) (own, other *lead) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.leads[k]; other != nil {
		return nil, other
	}
	if c.leads == nil {
		c.leads = map[store.Key]*lead{}
	}
	own = &lead{done: make(chan struct{})}
	c.leads[k] = own
	return own, nil
}

// leave tells those who wait how l has ended.
func (c *copies) leave(k store.Key, l *lead, finished bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leads, k)
	l.finished = finished
	close(l.done)
}

// waits reports whether d may wait for a copy. A delivery inside the callback of
// its own key may not: it is refused.
func (d *Delivery) waits(outer *runContext) bool {
	return d.Policy.BusyWait > 0 && d.Policy.BusyWait <= store.MaxDuration && !outer.inside(&d.Key)
}

// join returns when d is to be delivered, or has ended with its copy. After one
// that did not finish a single one of those who waited leads next. Whoever has
// waited long enough asks the store, which knows how long the key stays busy.
func (g *Guard) join(ctx context.Context, d *Delivery) (r Result, ended bool) {
	var other *lead
	if d.lead, other = g.copies.enter(d.Key); d.lead != nil {
		return Result{}, false
	}
	g.copies.waiting.Add(1)
	defer g.copies.waiting.Add(-1)
	began := g.now()
	over := time.NewTimer(d.Policy.BusyWait)
	defer over.Stop()
	for d.lead == nil {
		err := other.wait(ctx, over.C, g.draining)
		d.waited = g.now() - began
		switch {
		case errors.Is(err, ErrDraining):
			return g.Report(ctx, *d, Result{Outcome: Deferred, Err: err}), true
		case err != nil:
			return Result{}, false
		case other.finished:
			return g.Report(ctx, *d, Result{Outcome: Skipped}), true
		}
		d.lead, other = g.copies.enter(d.Key)
	}
	return Result{}, false
}

// wait returns nil when l has ended.
func (l *lead) wait(ctx context.Context, over <-chan time.Time, draining <-chan struct{}) error {
	select {
	case <-l.done:
		return nil
	case <-draining:
		return fmt.Errorf("%w: %w", ErrDraining, ErrBusy)
	case <-over:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayWait reports whether one of ds may wait for a copy.
func mayWait(ctx context.Context, ds []Delivery) bool {
	for i := range ds {
		if d := &ds[i]; d.Policy.BusyWait > 0 && d.waits(around(ctx)) {
			return true
		}
	}
	return false
}

// split parts a batch into what is delivered at once, whose indices are at, and
// the copies of what this process is at.
func (g *Guard) split(ctx context.Context, ds []Delivery) (first []Delivery, at, later []int) {
	outer := around(ctx)
	for i, d := range ds {
		if d.waits(outer) {
			if d.lead, _ = g.copies.enter(d.Key); d.lead == nil {
				later = append(later, i)
				continue
			}
		}
		first, at = append(first, d), append(at, i)
	}
	return first, at, later
}

// deliverSplit delivers what split returned: first by deliver, then, when all its
// claims are settled, each of later by itself. Two batches that have keys in
// common so never wait for each other.
func (g *Guard) deliverSplit(
	ds, first []Delivery, at, later []int, deliver func([]Delivery) []Result, alone func(Delivery, int) Result,
) []Result {
	results := make([]Result, len(ds))
	for n, r := range deliver(first) {
		results[at[n]] = r
	}
	var waiting sync.WaitGroup
	for _, i := range later {
		waiting.Go(func() { results[i] = alone(ds[i], i) })
	}
	waiting.Wait()
	return results
}
