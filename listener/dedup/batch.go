package dedup

import (
	"context"
	"sync"
)

// DeliverTogether claims every delivery of a batch, runs fn once for those that
// are acquired and records its one answer for each of them. acquired are their
// indices in ds, in order; fn is not called without any. The context is
// cancelled as soon as one of their claims is lost. The results are in the
// order of ds, whose keys should be distinct: of two equal ones the second is
// busy.
func (g *Guard) DeliverTogether(
	ctx context.Context, ds []Delivery, fn func(ctx context.Context, acquired []int) error,
) []Result {
	results, members := make([]Result, len(ds)), make([]member, len(ds))
	inParallel(len(ds), func(i int) {
		m := g.member(ctx, ds[i])
		if members[i] = m; m.act.kind != actRun {
			results[i] = g.conclude(ctx, m.run, m.act)
		}
	})
	acquired, late := g.begin(ctx, members)
	var giving sync.WaitGroup
	giving.Go(func() {
		inParallel(len(late), func(n int) {
			m := members[late[n]]
			results[late[n]] = g.conclude(ctx, m.run, m.act)
		})
	})
	if len(acquired) > 0 {
		err := together(ctx, members, acquired, fn)
		inParallel(len(acquired), func(n int) {
			r := members[acquired[n]].run
			results[acquired[n]] = g.conclude(ctx, r, g.returned(r, err))
		})
	}
	giving.Wait()
	return results
}

// member is a delivery on its way to the callback of its batch.
type member struct {
	run *run
	ctx context.Context // of its own claim
	act action          // what the machine wants
}

func (g *Guard) member(ctx context.Context, d Delivery) member {
	var a attempt
	act := g.claim(ctx, d, &a)
	m := member{run: &run{attempt: a}, act: act}
	if act.kind == actRun || act.kind == actVerify {
		m.ctx, m.act = g.hold(ctx, m.run, act)
	}
	return m
}

// begin asks every claim once more, because those that were granted first have
// waited for the others: late are the ones that must be given back.
func (g *Guard) begin(ctx context.Context, members []member) (acquired, late []int) {
	in := input{kind: inBegin, now: g.now(), aborted: ctx.Err()}
	for i := range members {
		m := &members[i]
		if m.act.kind != actRun {
			continue
		}
		if m.act, _ = m.run.step(in); m.act.kind == actRun {
			acquired = append(acquired, i)
		} else {
			late = append(late, i)
		}
	}
	return acquired, late
}

// together calls fn in a context that ends with the first claim that is lost.
func together(ctx context.Context, members []member, acquired []int, fn func(context.Context, []int) error) error {
	runs := make([]*run, len(acquired))
	for n, i := range acquired {
		runs[n] = members[i].run
	}
	rctx, cancel := enter(ctx, runs...)
	defer cancel(nil)
	for _, i := range acquired {
		own := members[i].ctx
		defer context.AfterFunc(own, func() { cancel(context.Cause(own)) })()
	}
	return call(rctx, func(ctx context.Context) error { return fn(ctx, acquired) })
}

// maxParallel bounds the calls to the store that one batch has on its way.
const maxParallel = 32

func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}
