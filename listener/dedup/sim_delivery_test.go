package dedup

import (
	"context"
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simDelivery is one machine and the calls around it.
type simDelivery struct {
	p       *simProcess
	life    int // of the process
	batch   *simBatch
	message *simMessage
	key     *simKey
	token   int
	machine machine

	ticks    time.Duration // when the next tick comes
	held     time.Duration // when the call was sent that last granted or renewed its lease
	told     store.State   // the last verdict that reached it
	found    Finding       // of its Verifier
	waiting  bool          // for the rest of its batch
	callback *simCallback
	counted  bool   // among the held
	robbed   string // why its claim is not what it believes
	moved    bool   // published elsewhere
}

func (p *simProcess) newDelivery(b *simBatch, m *simMessage) *simDelivery {
	d := &simDelivery{p: p, life: p.life, batch: b, message: m, key: m.key}
	d.machine.policy = p.policy
	d.machine.policy.MaxAttempts = m.key.most
	if m.key.verified {
		d.machine.policy.Verifier = func(context.Context, store.Key) (Finding, error) { return 0, nil }
	}
	d.machine.limits = limits{claim: p.claim, settle: 20 * time.Second, renews: true, parks: true}
	return d
}

func (d *simDelivery) start() {
	d.key.deliveries = append(d.key.deliveries, d)
	d.newToken()
	d.p.s.tally["deliveries"]++
	if d.p.leaving != nil {
		d.step(input{kind: inAborted, err: d.p.leaving})
		return
	}
	d.step(d.p.journal.first(d))
}

func (d *simDelivery) newToken() {
	d.p.s.tokens++
	d.token, d.robbed = d.p.s.tokens, ""
}

// gone forgets a delivery that has ended or whose process has.
func (d *simDelivery) gone() {
	d.callback = nil
	d.key.deliveries = slices.DeleteFunc(d.key.deliveries, func(other *simDelivery) bool { return other == d })
}

// feed steps d after a while, unless its process has ended before.
func (d *simDelivery) feed(after time.Duration, in input) {
	if d.life == d.p.life {
		d.p.soon(after, func() { d.step(in) })
	}
}

func (d *simDelivery) step(in input) {
	if in.err == nil && (in.kind == inRenewed || in.verdict.State == store.Claimed) {
		d.held = max(d.held, in.sent)
	}
	switch in.kind {
	case inClaimed:
		if d.told = in.verdict.State; in.err == nil {
			d.answered()
		}
	case inVerified:
		d.found = in.finding
	}
	d.perform(d.next(in))
}

// next steps the machine and has its answer judged.
func (d *simDelivery) next(in input) action {
	s := d.p.s
	in.now, in.jitter, in.aborted = d.p.clock(), s.rng.Float64(), d.p.leaving
	if in.down = d.p.failing; in.kind == inSettled {
		in.down = d.p.journal.stuck
	}
	a := d.machine.step(s.bug.distort(in))
	if s.log != nil {
		s.note("process %d, key %d, token %d: input %d %v %v: phase %d, action %d",
			d.p.id, d.key.id, d.token, in.kind, in.verdict.State, in.err, d.machine.phase, a.kind)
	}
	s.judge.answers(d, in, a)
	return a
}

func (d *simDelivery) perform(a action) {
	s := d.p.s
	s.judge.acts(d, a)
	switch a.kind {
	case actClaim:
		if a.anew {
			d.newToken()
		}
		d.sendClaim(a.after)
	case actHold:
		d.hold(a.after)
	case actVerify:
		d.verify()
		d.tickLater()
	case actRenew:
		d.sendRenewal()
		d.tickLater()
	case actRun:
		d.batch.acquired(d)
		d.tickLater()
	case actCancel:
		if d.callback != nil {
			d.callback.cancel(d.p)
		}
		d.tickLater()
	case actComplete, actRelease, actPark, actAbandon:
		if a.kind == actComplete && s.bug.endBeforeComplete {
			d.step(input{kind: inSettled, completion: store.Completed})
			return
		}
		d.sendEnd(a)
	case actJournal:
		d.p.journal.remember(d, a.after)
	case actEnd:
		d.end()
	default:
		d.tickLater()
	}
	s.bug.after(d, a)
}

// begin asks the machine once more before its callback runs.
func (d *simDelivery) begin() (runs bool) {
	d.waiting = false
	a := d.next(input{kind: inBegin})
	if a.kind != actRun {
		d.perform(a)
	}
	return a.kind == actRun
}

func (d *simDelivery) tickLater() {
	at, now := d.machine.wake(), d.p.clock()
	if at == never || now < d.ticks && d.ticks <= at {
		return
	}
	d.ticks = at
	d.feed(max(0, at-now), input{kind: inTick})
}

func (d *simDelivery) end() {
	r := &d.machine.result
	d.p.s.note("process %d, key %d, token %d ends: %v %v", d.p.id, d.key.id, d.token, r.Outcome, r.Err)
	d.p.s.tally[r.Outcome.String()]++
	d.answered()
	d.gone()
	d.batch.ended()
}

// hold waits for a turn, which comes to one held delivery at a time while the
// store fails.
func (d *simDelivery) hold(limit time.Duration) {
	s := d.p.s
	if !d.counted {
		d.counted = true
		d.p.held++
		d.p.failing = true
		s.tally["deliveries held"]++
	}
	wait := s.upTo(500*time.Millisecond) * time.Duration(d.p.held)
	if !s.bug.neverResumed {
		d.feed(min(wait, limit), input{kind: inResumed, turn: wait < limit})
	}
}

// answered takes d from the held.
func (d *simDelivery) answered() {
	if d.counted {
		d.counted = false
		d.p.held--
		d.p.failing = d.p.failing && d.p.held > 0
	}
}

// verify looks whether the effect is there. It cannot always tell.
func (d *simDelivery) verify() {
	s := d.p.s
	d.p.soon(s.upTo(2*time.Second), func() {
		in := input{kind: inVerified, finding: NotHappened}
		switch {
		case s.faults && s.chance(10):
			in.finding = Unknown
		case s.faults && s.chance(10):
			in.err = errCallback
		case d.key.effects > 0:
			in.finding = Happened
		}
		d.step(in)
	})
}
