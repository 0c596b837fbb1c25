package dedup

import (
	"errors"
	"time"
)

// The adapter's side of a batch: one answer for all, as in package listener.

// dead reports whether no retry can mend the message.
func (d *simDelivery) dead() bool {
	err := d.machine.result.Err
	return IsPermanent(err) || errors.Is(err, ErrParked)
}

func (d *simDelivery) finished() bool { return d.moved || d.machine.result.Outcome.Finished() }

// excused reports whether a message is kept out of the dead letters: it was
// deferred for no fault of its own on its last delivery.
func (d *simDelivery) excused() bool {
	return d.message.reconsumed >= simMost-1 && !d.dead() && d.machine.result.Outcome == Deferred
}

// answer acknowledges the batch or sends all of it back, as the client does.
func (b *simBatch) answer() {
	s := b.p.s
	if b.insists() {
		return
	}
	over := allOf(b.members, func(d *simDelivery) bool { return d.finished() || d.dead() })
	if over && (s.plan.producer || len(b.members) == 1) {
		for _, d := range b.members {
			b.bury(d)
		}
	}
	if allOf(b.members, (*simDelivery).finished) {
		for _, d := range b.members {
			s.judge.acknowledges(d)
			s.broker.acknowledge(d.message)
		}
		return
	}
	if s.faults && s.chance(3) { // the client keeps what it cannot send back
		s.note("process %d cannot send back", b.p.id)
		b.again(5 * time.Second)
		return
	}
	b.sendBack()
}

// insists keeps messages out of the dead letters: it publishes them again, or has
// the batch delivered again here.
func (b *simBatch) insists() bool {
	s, waits := b.p.s, time.Duration(0)
	for _, d := range b.members {
		switch {
		case !d.excused():
		case s.plan.producer:
			d.moved = true
			s.broker.publish(&simMessage{key: d.key}, simLevels[s.broker.covering(d.machine.result.Left)])
		default:
			waits = min(max(100*time.Millisecond, d.machine.result.Left), 5*time.Second)
		}
	}
	if waits > 0 {
		b.again(waits)
	}
	return waits > 0
}

// again delivers the batch once more, here.
func (b *simBatch) again(wait time.Duration) {
	messages := make([]*simMessage, len(b.members))
	for i, d := range b.members {
		messages[i] = d.message
	}
	b.p.consume(messages, wait)
}

func (b *simBatch) bury(d *simDelivery) {
	if d.dead() && !d.moved {
		d.moved = true
		b.p.s.judge.buries(d)
	}
}

func (b *simBatch) sendBack() {
	s, level := b.p.s, 0
	for _, d := range b.members {
		if left := d.machine.result.Left; left > 0 {
			level = max(level, s.broker.covering(left))
		}
	}
	for _, d := range b.members {
		if s.broker.sendBack(d.message, level) {
			s.judge.buries(d)
		}
	}
}
