package dedup

import (
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var (
	errCut     = &store.Error{Class: store.NotApplied, Err: errors.New("refused")}
	errTimeout = &store.Error{Class: store.Unknown, Err: errors.New("timeout")}
)

const simCallTimeout = time.Second

func (d *simDelivery) sendClaim(after time.Duration) {
	c := simClaim{d.token, d.machine.policy.Lease, d.machine.policy.Horizon, d.machine.policy.MaxAttempts}
	if d.p.journal.full() && d.machine.policy.Outage != OutageRun {
		d.feed(after, input{kind: inClaimed, err: errCut})
		return
	}
	d.send(after, inClaimed, func(in *input) {
		in.verdict, in.err = d.p.s.store.claim(d.key, c)
		if in.verdict.State == store.Claimed && d.token == c.token {
			d.robbed = ""
		}
	})
}

func (d *simDelivery) sendRenewal() {
	token := d.token
	d.send(0, inRenewed, func(in *input) {
		if in.err = d.p.s.store.renew(d.key, token); in.err == nil {
			d.robbed = ""
		}
	})
}

func (d *simDelivery) sendEnd(a action) {
	st, token, ran := &d.p.s.store, d.token, d.machine.ran && a.kind == actRelease
	d.send(a.after, inSettled, func(in *input) {
		switch a.kind {
		case actComplete:
			in.completion = st.complete(d.key, token)
		case actPark:
			in.err = st.park(d.key, token)
		default:
			in.err = st.release(d.key, token, ran)
		}
	})
}

// send carries one call to the store and its answer back, with the faults of a
// network. What apply does is done even when the caller is gone.
func (d *simDelivery) send(wait time.Duration, kind inputKind, apply func(*input)) {
	d.p.soon(wait, func() {
		s := d.p.s
		in := input{kind: kind, sent: d.p.clock()}
		fault := 9
		switch {
		case s.store.down:
			fault = s.rng.IntN(3)
		case s.faults:
			fault = s.rng.IntN(20)
		}
		switch fault {
		case 0: // never sent
			in.err = errCut
			d.feed(s.upTo(simCallTimeout), in)
		case 1: // never arrives
			in.err = errTimeout
			d.feed(simCallTimeout, in)
		case 2, 3: // arrives late, or its answer does not
			s.after(d.lateness(), func() { apply(&input{}) })
			in.err = errTimeout
			d.feed(simCallTimeout, in)
		case 4: // applied, but answered with what cannot be understood
			s.after(s.upTo(20*time.Millisecond), func() { apply(&input{}) })
			d.feed(s.upTo(100*time.Millisecond), d.nonsense(in))
		default:
			slow := 20 * time.Millisecond
			if fault == 5 {
				slow = simCallTimeout / 2
			}
			s.after(s.upTo(slow), func() {
				apply(&in)
				d.feed(s.upTo(slow), in)
			})
		}
	})
}

// nonsense is an answer that says nothing, or that the record is corrupt.
func (d *simDelivery) nonsense(in input) input {
	switch {
	case in.kind == inRenewed:
		in.err = errTimeout
	case in.kind == inClaimed && d.p.s.chance(50):
		in.verdict.State = store.Corrupt
	}
	return in
}

// lateness is mostly less than the caller waits, and now and then far more.
func (d *simDelivery) lateness() time.Duration {
	s := d.p.s
	switch {
	case s.chance(10):
		return s.upTo(30 * time.Second)
	case s.chance(30):
		return s.upTo(2 * d.machine.policy.Lease)
	}
	return s.upTo(simCallTimeout)
}
