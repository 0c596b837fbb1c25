package dedup

import (
	"context"
	"errors"
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// StopWaiting defers every delivery that waits for the store, with
// [ErrDraining], and lets none wait from now on. Those that wait for their
// success to be recorded end, and the journal goes on. A consumer calls it when
// it begins to drain. What runs is not touched.
func (g *Guard) StopWaiting() { g.drain.Do(func() { close(g.draining) }) }

// heldOf are the members of a batch that the store has not answered.
func heldOf(members []member) (held []*member) {
	for i := range members {
		if members[i].act.kind == actHold {
			held = append(held, &members[i])
		}
	}
	return held
}

// outlast waits for the claims of the held members of a batch, and tells decided
// of those that the store has answered, maybe at the same time. A batch takes its
// turns as one call, or each of its members by itself if the store has no calls
// for a batch.
func (g *Guard) outlast(ctx context.Context, held []*member, decided func([]*member)) {
	scheduled := func(members []*member) {
		g.schedule.addAll(ctx, members)
		decided(members)
	}
	if g.batcher != nil && len(held) > 0 {
		g.waitOut(ctx, held, scheduled)
		return
	}
	var waiting sync.WaitGroup
	for i := range held {
		waiting.Go(func() { g.waitOut(ctx, held[i:i+1], scheduled) })
	}
	waiting.Wait()
}

// verifyAll asks the Verifiers of those members whose machines want to.
func (g *Guard) verifyAll(ctx context.Context, members []*member) {
	inParallel(members, wants(actVerify), func(m *member) { m.act = g.verify(ctx, &m.run, m.act) })
}

// waitOut holds members until the store answers their claims, they have waited
// as long as their policy says, ctx ends, or nobody is to wait any more. They
// take their turns together; decided is told of those that need no further one.
func (g *Guard) waitOut(ctx context.Context, members []*member, decided func([]*member)) {
	began := g.now()
	if g.circuit.enter(len(members)) {
		g.logHolding(ctx, members[0].machine.result.Err)
	}
	for len(members) > 0 {
		limit := members[0].act.after
		for _, m := range members {
			limit = min(limit, m.act.after)
		}
		err := g.circuit.await(ctx, limit)
		g.resume(ctx, members, err)
		var ended, held []*member
		now := g.now()
		for _, m := range members {
			if m.act.kind == actHold {
				held = append(held, m)
				continue
			}
			if m.tx == nil || !m.entered() {
				m.claimTime = now - m.machine.began
			}
			m.holdTime = m.claimTime - (began - m.machine.began)
			ended = append(ended, m)
		}
		if err == nil {
			g.circuit.report(len(held) == 0)
		}
		if g.circuit.leave(len(ended)) {
			g.logHolding(ctx, nil)
		}
		decided(ended)
		members = held
	}
}

// resume lets members try again, unless err says why it is not their turn.
func (g *Guard) resume(ctx context.Context, members []*member, err error) {
	in := input{kind: inResumed, now: g.now(), turn: err == nil}
	if !in.turn && !errors.Is(err, errWaited) {
		in.aborted = err
	}
	for _, m := range members {
		var known bool
		if m.act, known = g.known(&m.attempt); !known {
			m.act = m.machine.step(in)
		}
	}
	abandoning := wanting(members, actAbandon)
	if g.batcher != nil && len(abandoning) > 1 {
		g.settleBatch(ctx, abandoning)
	}
	inParallel(abandoning, wants(actAbandon), func(m *member) {
		_, err := g.settleOnce(ctx, &m.run, actAbandon)
		m.act = m.machine.step(input{kind: inSettled, now: g.now(), err: err})
	})
	claiming := wanting(members, actClaim)
	for _, m := range claiming {
		m.token = store.NewToken()
	}
	if g.batcher != nil && len(claiming) > 1 {
		g.claimBatch(ctx, claiming)
	}
	inParallel(claiming, wants(actClaim), func(m *member) { m.act = g.claimOnce(ctx, &m.attempt, 0) })
}

// wanting are the members whose machines want one of kinds next.
func wanting(members []*member, kinds ...actionKind) []*member {
	want := wants(kinds...)
	var found []*member
	for _, m := range members {
		if want(m) {
			found = append(found, m)
		}
	}
	return found
}
