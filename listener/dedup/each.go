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
// for all claims, and once for all ends that come within 5 ms.
func (g *Guard) DeliverEach(
	ctx context.Context, ds []Delivery, parallel int, fn func(ctx context.Context, i int) error,
) []Result {
	results := make([]Result, len(ds))
	members := g.acquire(ctx, ds)
	ends := make(chan *member, len(members))
	var working sync.WaitGroup
	working.Go(func() { g.runEach(ctx, members, max(1, parallel), fn, ends) })
	for left := len(members); left > 0; {
		group := gather(ends, left)
		left -= len(group)
		working.Go(func() { g.finish(ctx, group, results) })
	}
	working.Wait()
	return results
}

// runEach sends every member to ends, those that are acquired after their
// callback.
func (g *Guard) runEach(
	ctx context.Context, members []member, parallel int, fn func(context.Context, int) error, ends chan<- *member,
) {
	slots := make(chan struct{}, parallel)
	for i := range members {
		m := &members[i]
		if m.act.kind == actRun {
			slots <- struct{}{}
			if g.begin(ctx, m); m.act.kind != actRun {
				<-slots
			}
		}
		if m.act.kind != actRun {
			ends <- m
			continue
		}
		launch(m.ctx, func(ctx context.Context) error { return fn(ctx, m.index) }, func(err error) {
			m.act = g.returned(&m.run, err)
			<-slots
			ends <- m
		})
	}
}

// gather waits for one member, and for a moment for more of the left ones.
func gather(ends <-chan *member, left int) []*member {
	group := []*member{<-ends}
	over := time.NewTimer(gatherTime)
	defer over.Stop()
	for len(group) < left {
		select {
		case m := <-ends:
			group = append(group, m)
		case <-over.C:
			return group
		}
	}
	return group
}
