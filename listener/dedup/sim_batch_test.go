package dedup

import (
	"errors"
	"slices"
	"time"
)

// simBatch is what a process got at once, on the way to one answer.
type simBatch struct {
	p        *simProcess
	members  []*simDelivery
	together bool // one callback for all, when all are claimed
	begun    bool
}

// simCallback runs for one delivery, or for those of a batch.
type simCallback struct {
	members   []*simDelivery
	stubborn  bool // ignores cancellation
	cancelled bool
	over      bool
}

var errCallback = errors.New("callback failed")

// consume delivers messages, after a wait if they waited here already.
func (p *simProcess) consume(messages []*simMessage, wait time.Duration) {
	b := &simBatch{p: p, together: p.s.chance(40)}
	p.batches = append(p.batches, b)
	for _, m := range messages {
		d := p.newDelivery(b, m)
		b.members = append(b.members, d)
		p.soon(wait, d.start)
	}
	p.mishap()
}

// acquired lets a delivery run, or wait for the rest of its batch.
func (b *simBatch) acquired(d *simDelivery) {
	switch {
	case b.together && len(b.members) > 1:
		d.waiting = true
		b.begin()
	case b.p.s.chance(30): // it waits for a slot
		d.feed(b.p.s.upTo(b.p.policy.Lease), input{kind: inBegin})
	default:
		b.p.call(d)
	}
}

// begin asks all that were acquired again, as soon as none is undecided.
func (b *simBatch) begin() {
	decided := func(d *simDelivery) bool { return d.waiting || d.machine.phase >= completing }
	if b.begun || !b.together || !allOf(b.members, decided) {
		return
	}
	b.begun = true
	b.p.soon(0, func() {
		var acquired []*simDelivery
		for _, d := range b.members {
			if d.waiting && d.begin() {
				acquired = append(acquired, d)
			}
		}
		if len(acquired) > 0 {
			b.p.call(acquired...)
		}
	})
}

// call runs a callback.
func (p *simProcess) call(members ...*simDelivery) {
	s, c := p.s, &simCallback{members: members, stubborn: p.s.chance(20)}
	length, err, fatal := s.upTo(200*time.Millisecond), error(nil), false
	if s.faults && s.chance(20) {
		length = s.upTo(30 * time.Second)
	}
	if s.faults && s.chance(25) {
		err = errCallback
	}
	for _, d := range members {
		s.judge.starts(d)
		d.callback = c
		fatal = fatal || d.key.fatal
		if d.key.poison {
			err = errCallback
		}
	}
	if err != nil && s.chance(10) {
		err = Permanent(err)
	}
	if fatal {
		p.soon(length, p.crash)
		return
	}
	p.soon(length, func() { p.returns(c, err) })
}

func (p *simProcess) returns(c *simCallback, err error) {
	if c.over {
		return
	}
	c.over = true
	for _, d := range c.members {
		d.callback = nil
		if err == nil {
			d.key.effects++
			p.s.tally["effects"]++
		}
	}
	for _, d := range c.members {
		d.step(input{kind: inReturned, err: err})
	}
}

// cancel ends the context of a callback, which all of a batch share.
func (c *simCallback) cancel(p *simProcess) {
	if !c.cancelled && !c.stubborn {
		p.soon(p.s.upTo(100*time.Millisecond), func() { p.returns(c, errCallback) })
	}
	c.cancelled = true
}

// ended answers the broker when the last delivery of the batch has ended.
func (b *simBatch) ended() {
	b.begin()
	if !allOf(b.members, func(d *simDelivery) bool { return d.machine.phase == ended }) {
		return
	}
	p := b.p
	p.batches = slices.DeleteFunc(p.batches, func(other *simBatch) bool { return other == b })
	if p.leaving != nil && !allOf(b.members, (*simDelivery).finished) {
		for _, d := range b.members {
			p.s.broker.bring(d.message, p.s.upTo(time.Second))
		}
	} else {
		b.answer()
	}
	p.drained()
}

func allOf(members []*simDelivery, is func(*simDelivery) bool) bool {
	return !slices.ContainsFunc(members, func(d *simDelivery) bool { return !is(d) })
}
