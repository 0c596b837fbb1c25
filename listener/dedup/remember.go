package dedup

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// promise is a delivery whose success the journal has to record.
type promise struct {
	run   *run
	entry *entry // nil when the journal takes no more
	began time.Duration
	until time.Duration
}

// remember has the journal record the success of r.
func (g *Guard) remember(r *run, act action) promise {
	m := &r.machine
	e := &entry{
		claim: store.Claim{Key: r.key, Token: r.token}, keep: m.policy.Keep, strict: m.strict(), err: m.result.Err,
	}
	now := g.now()
	p := promise{run: r, began: now, until: now + act.after}
	if !m.result.Unprotected || !g.journal.full() {
		p.entry = g.journal.add(e)
	}
	return p
}

// redeem waits for the success to be recorded, as long as the machine wants and
// nobody drains, and ends the delivery. What is not recorded by then the
// journal goes on with.
func (g *Guard) redeem(p promise) {
	in := input{kind: inJournaled, err: p.run.machine.result.Err}
	if p.entry != nil {
		in.completion, in.err = g.journal.wait(p.entry, p.until-g.now())
	}
	in.now = g.now()
	p.run.step(in)
	p.run.settleTime += in.now - p.began
}

// redeemAll does so for those members that have come to the journal, at the same
// time.
func (g *Guard) redeemAll(members []*member) {
	var promises []promise
	for _, m := range members {
		if m.act.kind == actJournal {
			promises = append(promises, g.remember(&m.run, m.act))
		}
	}
	for _, p := range promises {
		g.redeem(p)
	}
}

// wait returns how e was recorded, or why not.
func (j *journal) wait(e *entry, limit time.Duration) (store.Completion, error) {
	over := time.NewTimer(limit)
	defer over.Stop()
	drained := false
	select {
	case <-e.done:
	case <-over.C:
	case <-j.guard.draining:
		drained = true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if drained && e.err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDraining, e.err)
	}
	return e.completion, e.err
}

// known ends a delivery whose key the journal has: its effect happened.
func (g *Guard) known(a *attempt) (action, bool) {
	if g.journal.size.Load() == 0 {
		return action{}, false
	}
	return g.recall(a)
}

func (g *Guard) recall(a *attempt) (action, bool) {
	e := g.journal.find(&a.key)
	switch {
	case e == nil:
		return action{}, false
	case e.strict:
		return a.machine.step(input{kind: inAborted, err: ErrUnrecorded}), true
	}
	return a.machine.step(input{kind: inClaimed, verdict: store.Verdict{State: store.Done}}), true
}

// errFull is how a claim fails that is not sent.
var errFull = &store.Error{Driver: "dedup", Op: "claim", Class: store.NotApplied, Err: ErrJournalFull}

// stopped reports whether a must not be claimed, because its success might find
// no room in the journal. Those that may run unprotected have no such promise.
func (g *Guard) stopped(a *attempt) bool {
	return g.journal.full() && a.machine.policy.Outage != OutageRun
}

// Flush ends the guard: it goes on recording, until ctx ends, the successes that
// could not be recorded yet, and returns an error that tells how many are left.
// Their keys are logged; copies of them may run again elsewhere. Call it last:
// what succeeds later is recorded only if the store takes it at once.
func (g *Guard) Flush(ctx context.Context) error {
	left := g.journal.flush(ctx)
	if len(left) == 0 {
		return nil
	}
	for _, e := range left {
		g.log(ctx, slog.LevelError, func() (string, []slog.Attr) {
			return "dedup: success not recorded", []slog.Attr{
				slog.String("key", e.claim.Key.String()), slog.Any("error", e.err),
			}
		})
	}
	return fmt.Errorf("dedup: %d successes could not be recorded: %w", len(left), left[0].err)
}
