package dedup

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// attempt is one delivery: the machine and what the calls around it need. It
// lives on the stack until its claim is granted.
type attempt struct {
	key         store.Key
	token       store.Token
	redelivered bool
	fallback    bool
	machine     machine

	lead *lead        // what copies wait for; nil when none may
	tx   *transaction // what claims and runs at once; nil for a claim that is kept

	waitTime, claimTime, holdTime, runTime, settleTime time.Duration

	started time.Duration // when what is measured by runTime began
}

// run is an attempt that the scheduler knows.
type run struct {
	attempt
	mu     sync.Mutex    // guards machine while the run is scheduled
	ctx    runContext    // of what runs under the claim
	self   [1]*run       // the runs of ctx
	slot   int           // in the schedule's queue, -1 outside; guarded by schedule.mu
	wakeAt time.Duration // guarded by schedule.mu
	fence  fence

	orphaned bool     // counted as such; guarded by schedule.mu
	renewal  *renewal // on its way, or nil; guarded by schedule.mu
}

// entered reports whether r is held.
func (r *run) entered() bool { return r.ctx.parent != nil }

func (r *run) step(in input) (act action, wake time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.step(in), r.machine.wake()
}

// claim drives a up to the point where something must run, be released or ends.
func (g *Guard) claim(ctx context.Context, d *Delivery, a *attempt) action {
	return g.claimAgain(ctx, a, g.prepare(ctx, around(ctx), d, a))
}

// prepare fills a in and says whether to claim it at all. outer is what is around
// ctx.
func (g *Guard) prepare(ctx context.Context, outer *runContext, d *Delivery, a *attempt) action {
	a.key, a.redelivered, a.fallback = d.Key, d.Redelivered, d.Fallback
	a.lead, a.waitTime = d.lead, d.waited
	a.machine.policy = d.Policy.WithDefaults()
	a.machine.limits = limits{
		claim: g.options.ClaimTimeout, settle: g.options.SettleTimeout,
		renews: g.renewer != nil && a.tx == nil, parks: g.parker != nil && a.tx == nil, transacts: a.tx != nil,
	}
	if a.tx != nil && a.machine.policy.Outage == OutageRun {
		a.machine.policy.Outage = OutageRetry
	}
	if g.renewer == nil || a.tx != nil {
		a.machine.policy.Lease = a.machine.policy.MaxConsume
	}
	if err := admit(ctx, outer, &a.key, &a.machine.policy); err != nil {
		return a.machine.step(input{kind: inAborted, err: err})
	}
	if act, known := g.known(a); known {
		return act
	}
	a.token = store.NewToken()
	return a.machine.step(input{kind: inStart, now: g.now()})
}

// claimAgain claims as long as the machine wants to.
func (g *Guard) claimAgain(ctx context.Context, a *attempt, act action) action {
	if act.kind != actClaim {
		return act
	}
	for act.kind == actClaim {
		act = g.claimOnce(ctx, a, act.after)
	}
	if a.tx == nil || !a.tx.run.entered() {
		a.claimTime = g.now() - a.machine.began
	}
	return act
}

// admit refuses what no store should see.
func admit(ctx context.Context, outer *runContext, k *store.Key, p *Policy) error {
	if err := k.Validate(); err != nil {
		return err
	}
	if !p.sound() {
		return p.Validate()
	}
	if outer.inside(k) {
		return ErrNested
	}
	return ctx.Err()
}

func (g *Guard) claimOnce(ctx context.Context, a *attempt, after time.Duration) action {
	pause(ctx, after)
	if err := ctx.Err(); err != nil {
		return a.machine.step(input{kind: inAborted, err: err})
	}
	if g.stopped(a) {
		return a.machine.step(input{kind: inClaimed, now: g.now(), err: errFull, jitter: jitter(errFull)})
	}
	if a.tx != nil {
		return g.transact(ctx, a)
	}
	call, done := g.deadline(ctx)
	defer done()
	sent := g.now()
	v, err := g.store.Claim(call, a.request())
	return a.machine.step(input{
		kind: inClaimed, now: g.now(), sent: sent, verdict: v, err: err, jitter: jitter(err),
		aborted: ctx.Err(), down: err != nil && g.circuit.isDown(), doubted: g.doubted(&a.machine.policy),
	})
}

func (a *attempt) request() store.ClaimRequest {
	p := &a.machine.policy
	return store.ClaimRequest{
		Key: a.key, Token: a.token, Lease: p.Lease, Horizon: p.Horizon,
		MaxAttempts: p.MaxAttempts, ParkKeep: p.Keep,
	}
}

// deadline bounds one call. A store that never waits needs none.
func (g *Guard) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if g.instant {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, g.options.CallTimeout)
}

// hold puts r under the schedule with a context of its own, and asks the Verifier
// if the machine wants to.
func (g *Guard) hold(ctx context.Context, r *run, act action) action {
	g.enter(ctx, r)
	g.schedule.add(r)
	return g.verify(ctx, r, act)
}

// enter gives r a context, out of its caller's, and fences to draw.
func (g *Guard) enter(ctx context.Context, r *run) {
	r.self[0] = r
	r.ctx.parent, r.ctx.runs = ctx, r.self[:]
	r.started = r.machine.granted
	if r.tx == nil {
		g.fencing(r)
	}
}

// verify asks the Verifier if the machine wants to.
func (g *Guard) verify(ctx context.Context, r *run, act action) action {
	if act.kind != actVerify {
		return act
	}
	r.started = g.now()
	var finding Finding
	err := call(&r.ctx, func(ctx context.Context) (err error) {
		finding, err = r.machine.policy.Verifier(ctx, r.key)
		return err
	})
	now := g.now()
	r.runTime, r.started = now-r.started, now
	act, _ = r.step(input{kind: inVerified, now: now, finding: finding, err: err, aborted: ctx.Err()})
	return act
}

func (g *Guard) returned(r *run, err error) action {
	now := g.now()
	r.runTime += now - r.started
	act, _ := r.step(input{kind: inReturned, now: now, err: err})
	return act
}

// conclude takes r from the schedule, records its end and reports it.
func (g *Guard) conclude(ctx context.Context, r *run, act action) Result {
	g.drop(r)
	if act = g.settle(ctx, r, act); act.kind == actJournal {
		g.redeem(g.remember(r, act))
	}
	return g.report(ctx, &r.attempt)
}

// drop ends what hold began, if it did.
func (g *Guard) drop(r *run) {
	if r.entered() {
		g.schedule.remove(r)
		r.ctx.cancel(nil)
	}
}

// settle drives r to its end, or to the journal. It is detached from the caller's
// context: what happened must be recorded although the caller is shutting down.
func (g *Guard) settle(ctx context.Context, r *run, act action) action {
	if act.kind == actEnd || act.kind == actJournal {
		return act
	}
	began := g.now()
	ctx = context.WithoutCancel(ctx)
	for act.kind != actEnd && act.kind != actJournal {
		pause(ctx, act.after)
		completion, err := g.settleOnce(ctx, r, act.kind)
		act, _ = r.step(input{
			kind: inSettled, now: g.now(), completion: completion, err: err, jitter: jitter(err),
			down: err != nil && g.journal.fails(),
		})
	}
	r.settleTime += g.now() - began
	return act
}

func (g *Guard) settleOnce(ctx context.Context, r *run, kind actionKind) (store.Completion, error) {
	ctx, done := g.deadline(ctx)
	defer done()
	keep := r.machine.policy.Keep
	switch kind {
	case actComplete:
		return g.store.Complete(ctx, r.key, r.token, keep)
	case actPark:
		return 0, g.parker.Park(ctx, r.key, r.token, keep)
	}
	return 0, g.store.Release(ctx, r.key, r.token, r.machine.ran)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// jitter draws only where it is used: after a failure.
func jitter(err error) float64 {
	if err == nil {
		return 0
	}
	return rand.Float64()
}
