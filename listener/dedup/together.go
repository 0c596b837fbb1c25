package dedup

import (
	"context"
	"sync"
)

// DeliverTogether claims every delivery of a batch, runs fn once for those that
// are acquired and records its one answer for each of them. acquired are their
// indices in ds, in order; fn is not called without any. The context is
// cancelled as soon as one of their claims is lost. The results are in the
// order of ds, whose keys should be distinct: of two equal ones one is busy. A
// store that is a [store.Batcher] is called once for all claims and once for all
// ends. Copies that wait, by BusyWait, follow when the others have ended: fn is
// called again for each that is acquired then, maybe for several at once.
func (g *Guard) DeliverTogether(
	ctx context.Context, ds []Delivery, fn func(ctx context.Context, acquired []int) error,
) []Result {
	if mayWait(ctx, ds) {
		return g.deliverTogetherSplit(ctx, ds, fn)
	}
	return g.deliverTogether(ctx, ds, fn)
}

func (g *Guard) deliverTogetherSplit(
	ctx context.Context, ds []Delivery, fn func(ctx context.Context, acquired []int) error,
) []Result {
	first, at, later := g.split(ctx, ds)
	return g.deliverSplit(ds, first, at, later, func(first []Delivery) []Result {
		return g.deliverTogether(ctx, first, func(ctx context.Context, acquired []int) error {
			for n, m := range acquired {
				acquired[n] = at[m]
			}
			return fn(ctx, acquired)
		})
	}, func(d Delivery, i int) Result {
		return g.Deliver(ctx, d, func(ctx context.Context) error { return fn(ctx, []int{i}) })
	})
}

func (g *Guard) deliverTogether(
	ctx context.Context, ds []Delivery, fn func(ctx context.Context, acquired []int) error,
) []Result {
	results := make([]Result, len(ds))
	members := g.acquire(ctx, ds)
	held := heldOf(members)
	g.outlast(ctx, held, func([]*member) {})
	g.verifyAll(ctx, held)
	var acquired, ended []*member
	for i := range members {
		m := &members[i]
		if g.begin(ctx, m); m.act.kind == actRun {
			acquired = append(acquired, m)
		} else {
			ended = append(ended, m)
		}
	}
	var ending sync.WaitGroup
	ending.Go(func() { g.finish(ctx, ended, results) })
	if len(acquired) > 0 {
		err := together(ctx, acquired, fn)
		for _, m := range acquired {
			m.act = g.returned(&m.run, err)
		}
		ending.Go(func() { g.finish(ctx, acquired, results) })
	}
	ending.Wait()
	return results
}

// together calls fn in a context that ends with the first claim that is lost.
func together(ctx context.Context, acquired []*member, fn func(context.Context, []int) error) error {
	all := runContext{parent: ctx}
	indices := make([]int, len(acquired))
	for n, m := range acquired {
		all.runs, indices[n] = append(all.runs, &m.run), m.index
	}
	defer all.cancel(nil)
	for _, m := range acquired {
		m.ctx.widen(&all)
	}
	return call(&all, func(ctx context.Context) error { return fn(ctx, indices) })
}
