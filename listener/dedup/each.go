package dedup

import (
	"context"
	"sync"
	"time"
)

// gatherTime is how long the end of a callback waits for others of its batch,
// so that they are recorded in one call. A crash in between repeats the effect.
const gatherTime = 5 * time.Millisecond

// DeliverEach claims every delivery of a batch and runs fn for the index of each
// that is acquired, up to parallel at once. Every delivery has its own outcome;
// the results are in the order of ds, whose keys should be distinct: of two
// equal ones one is busy. A store that is a [store.Batcher] is called once
// for all claims, and once for all ends that come within 5 ms. Copies that wait,
// by BusyWait, follow when the others have ended.
func (g *Guard) DeliverEach(
	ctx context.Context, ds []Delivery, parallel int, fn func(ctx context.Context, i int) error,
) []Result {
	if mayWait(ctx, ds) {
		return g.deliverEachSplit(ctx, ds, parallel, fn)
	}
	return g.deliverEach(ctx, ds, parallel, fn)
}

func (g *Guard) deliverEachSplit(
	ctx context.Context, ds []Delivery, parallel int, fn func(ctx context.Context, i int) error,
) []Result {
	first, at, later := g.split(ctx, ds)
	slots := make(chan struct{}, max(1, parallel))
	return g.deliverSplit(ds, first, at, later, func(first []Delivery) []Result {
		return g.deliverEach(ctx, first, parallel, func(ctx context.Context, n int) error { return fn(ctx, at[n]) })
	}, func(d Delivery, i int) Result {
		return g.Deliver(ctx, d, func(ctx context.Context) error {
			slots <- struct{}{}
			defer func() { <-slots }()
			return fn(ctx, i)
		})
	})
}

func (g *Guard) deliverEach(
	ctx context.Context, ds []Delivery, parallel int, fn func(ctx context.Context, i int) error,
) []Result {
	results := make([]Result, len(ds))
	if len(ds) == 0 {
		return results
	}
	c := crew{
		guard: g, ctx: ctx, fn: fn, limit: max(1, parallel), left: len(ds),
		begun: make(chan struct{}, 1), over: make(chan struct{}),
	}
	members := g.acquire(ctx, ds)
	held := heldOf(members) // before any of them can run
	c.admit(members)
	var working sync.WaitGroup
	if len(held) > 0 {
		working.Go(func() {
			g.outlast(ctx, held, func(members []*member) {
				working.Go(func() {
					g.verifyAll(ctx, members)
					c.join(members)
				})
			})
		})
	}
	for {
		group, over := c.gather()
		if over {
			g.finish(ctx, group, results)
			break
		}
		working.Go(func() { g.finish(ctx, group, results) })
	}
	working.Wait()
	return results
}
