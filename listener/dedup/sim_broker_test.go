package dedup

import "time"

// simBroker delivers at least once: what was not acknowledged comes again, to
// another process too. Its delays are shorter than RocketMQ's, its rules the same.
type simBroker struct {
	s      *sim
	ready  []*simMessage
	open   int // copies that have not ended
	copies int
}

// simMessage is one copy on its way.
type simMessage struct {
	id         int
	key        *simKey
	reconsumed int
}

// simMost is the broker's maximum of retries.
const simMost = 8

var simLevels = [...]time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
	90 * time.Second, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 2 * time.Hour,
}

func (b *simBroker) publish(m *simMessage, after time.Duration) {
	b.open++
	b.copies++
	m.id = b.copies
	b.bring(m, after)
}

// bring delivers m again after a while: to nobody's count, because it is the
// same copy.
func (b *simBroker) bring(m *simMessage, after time.Duration) {
	b.s.note("message %d, key %d, retry %d comes in %v", m.id, m.key.id, m.reconsumed, after)
	b.s.after(after, func() {
		b.ready = append(b.ready, m)
		b.s.after(b.s.upTo(50*time.Millisecond), b.pull)
	})
}

// pull gives a batch of what is ready to a process. Now and then a rebalance
// gives it to two.
func (b *simBroker) pull() {
	s := b.s
	if len(b.ready) == 0 {
		return
	}
	n := min(len(b.ready), 1+s.rng.IntN(s.plan.batch))
	batch := append([]*simMessage(nil), b.ready[:n]...)
	b.ready = append(b.ready[:0], b.ready[n:]...)
	if len(b.ready) > 0 {
		s.after(s.upTo(50*time.Millisecond), b.pull)
	}
	if s.faults && s.chance(5) {
		for _, m := range batch {
			again := *m
			b.publish(&again, s.upTo(10*time.Second))
		}
	}
	for range 10 {
		if p := s.processes[s.rng.IntN(len(s.processes))]; p.takes() {
			p.consume(batch, 0)
			return
		}
	}
	for _, m := range batch {
		b.bring(m, time.Second)
	}
}

// acknowledge ends a copy, unless the broker does not hear of it.
func (b *simBroker) acknowledge(m *simMessage) {
	if b.s.faults && b.s.chance(3) {
		b.bring(m, b.s.upTo(10*time.Second))
		return
	}
	b.open--
	b.s.note("message %d is acknowledged", m.id)
}

// sendBack makes a retry of m, or a dead letter. level 0 leaves the delay to the
// broker.
func (b *simBroker) sendBack(m *simMessage, level int) (buried bool) {
	m.reconsumed++
	if m.reconsumed > simMost {
		b.open--
		return true
	}
	b.bring(m, simLevels[max(level, b.usual(m))])
	return false
}

func (b *simBroker) usual(m *simMessage) int { return min(1+m.reconsumed, len(simLevels)-1) }

// covering is the level that waits for d.
func (b *simBroker) covering(d time.Duration) int {
	for level, delay := range simLevels {
		if delay >= d {
			return level
		}
	}
	return len(simLevels) - 1
}
