package dedup

import (
	"context"
	"slices"
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// member is a delivery of a batch on its way to its end.
type member struct {
	run
	index int    // in the batch
	act   action // what its machine wants next
}

// acquire claims a batch, in one call if the store can, and holds what is
// granted. It returns with every member to be run, settled, reported or held.
func (g *Guard) acquire(ctx context.Context, ds []Delivery) []member {
	members := make([]member, len(ds))
	claiming := make([]*member, 0, len(ds))
	outer := around(ctx)
	for i := range members {
		m := &members[i]
		m.index = i
		if m.act = g.prepare(ctx, outer, &ds[i], &m.attempt); m.act.kind == actClaim {
			claiming = append(claiming, m)
		}
	}
	if g.batcher != nil && len(claiming) > 1 {
		g.claimBatch(ctx, claiming)
		g.schedule.addAll(ctx, claiming)
	}
	inParallel(claiming, wants(actClaim, actVerify), func(m *member) {
		if m.act = g.claimAgain(ctx, &m.attempt, m.act); m.granted() && !m.entered() {
			g.enter(ctx, &m.run)
			g.schedule.add(&m.run)
		}
		m.act = g.verify(ctx, &m.run, m.act)
	})
	return members
}

// granted reports whether m has a claim, or runs without one.
func (m *member) granted() bool { return m.act.kind == actRun || m.act.kind == actVerify }

// claimBatch sends the first claim of every member. Those that it does not
// decide go on alone.
func (g *Guard) claimBatch(ctx context.Context, members []*member) {
	if g.journal.full() {
		return
	}
	requests := make([]store.ClaimRequest, len(members))
	for i, m := range members {
		requests[i] = m.request()
	}
	call, done := g.deadline(ctx)
	defer done()
	sent := g.now()
	answers := g.batcher.ClaimBatch(call, requests)
	now := g.now()
	for i, m := range members {
		a := answerAt(answers, i, store.ClaimAnswer{Err: errNoVerdict})
		m.claimTime = now - m.machine.began
		m.act = m.machine.step(input{
			kind: inClaimed, now: now, sent: sent, verdict: a.Verdict, err: a.Err, jitter: jitter(a.Err),
			aborted: ctx.Err(), down: a.Err != nil && g.circuit.isDown(), doubted: g.doubted(&m.machine.policy),
		})
	}
}

// begin asks the machine of a granted member once more before its callback runs,
// because it has waited for others.
func (g *Guard) begin(ctx context.Context, m *member) {
	if m.act.kind == actRun {
		m.started = g.now()
		m.act, _ = m.step(input{kind: inBegin, now: m.started, aborted: ctx.Err()})
	}
}

// finish records the ends of members, in one call if the store can, and reports
// them into results.
func (g *Guard) finish(ctx context.Context, members []*member, results []Result) {
	g.schedule.removeAll(members)
	batch := make([]*member, 0, len(members))
	for _, m := range members {
		m.ctx.cancel(nil)
		if m.act.kind == actComplete || m.act.kind == actRelease {
			batch = append(batch, m)
		}
	}
	if g.batcher != nil && len(batch) > 1 {
		g.settleBatch(ctx, batch)
	}
	inParallel(members, func(m *member) bool { return m.act.kind != actEnd }, func(m *member) {
		m.act = g.settle(ctx, &m.run, m.act)
	})
	g.redeemAll(members)
	for _, m := range members {
		results[m.index] = m.machine.result
	}
	for _, m := range members {
		g.report(ctx, &m.attempt)
	}
}

// settleBatch sends the first complete or release of every member. Those that it
// does not end go on alone.
func (g *Guard) settleBatch(ctx context.Context, members []*member) {
	settlements := make([]store.Settlement, len(members))
	for i, m := range members {
		s := store.Settlement{Claim: store.Claim{Key: m.key, Token: m.token}, Ran: m.machine.ran}
		if m.act.kind == actComplete {
			s.Keep = m.machine.policy.Keep
		}
		settlements[i] = s
	}
	call, done := g.deadline(context.WithoutCancel(ctx))
	defer done()
	sent := g.now()
	answers := g.batcher.SettleBatch(call, settlements)
	now := g.now()
	for i, m := range members {
		a := answerAt(answers, i, store.SettleAnswer{Err: errNoVerdict})
		m.settleTime = now - sent
		m.act, _ = m.step(input{
			kind: inSettled, now: now, completion: a.Completion, err: a.Err, jitter: jitter(a.Err),
			down: a.Err != nil && g.journal.fails(),
		})
	}
}

// answerAt does not trust a store to answer everything.
func answerAt[T any](answers []T, i int, missing T) T {
	if i < len(answers) {
		return answers[i]
	}
	return missing
}

// wants selects the members whose machines want one of kinds next.
func wants(kinds ...actionKind) func(*member) bool {
	return func(m *member) bool { return slices.Contains(kinds, m.act.kind) }
}

// maxParallel bounds the calls to the store that one batch has on its way.
const maxParallel = 32

// inParallel does what is to be done for the members that want it, and waits.
func inParallel(members []*member, wants func(*member) bool, do func(*member)) {
	if !slices.ContainsFunc(members, wants) {
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, m := range members {
		if !wants(m) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(m)
		})
	}
	wg.Wait()
}
