package dedup

import (
	"context"
	"time"
)

// simProcess is a consumer. Its clock is its own, and shows nobody else's time.
type simProcess struct {
	s      *sim
	id     int
	epoch  time.Duration
	policy Policy
	claim  time.Duration // limits.claim

	life    int           // a crash begins another one
	down    bool          // between two lives
	wakes   time.Duration // paused until then
	leaving error         // it drains: the context of its deliveries has ended
	held    int           // deliveries that wait for the store
	failing bool          // the last claim of a held one has failed
	batches []*simBatch
	journal simJournal
}

func (s *sim) newProcess(id int) *simProcess {
	p := &simProcess{s: s, id: id, epoch: s.upTo(time.Hour), claim: s.between(time.Second, 4*time.Second)}
	p.journal = simJournal{p: p, room: 1 + s.rng.IntN(3), entries: map[*simKey]*simEntry{}}
	p.policy = Policy{
		Lease: s.plan.lease, MaxConsume: 20 * time.Second, Keep: simKeep, Horizon: s.plan.horizon,
		Outage:    []Outage{OutageHold, OutageHold, OutageRetry, OutageRun}[s.rng.IntN(4)],
		HoldLimit: 30 * time.Second,
	}
	if s.plan.mixed && s.chance(50) {
		p.policy.Lease = s.between(time.Second, 10*time.Second)
		p.policy.Horizon = s.between(10*time.Minute, 40*time.Minute)
	}
	return p
}

func (p *simProcess) clock() time.Duration { return p.s.now + p.epoch }

func (p *simProcess) takes() bool { return !p.down && p.leaving == nil }

// soon does something in the process after d, or as soon as its pause is over.
// It does not if the process has crashed.
func (p *simProcess) soon(d time.Duration, do func()) {
	s := p.s
	if s.faults && s.plan.pauses && s.chance(2) {
		p.pause()
	}
	var try func()
	try = p.alive(func() {
		if s.now < p.wakes {
			s.after(p.wakes-s.now, try)
			return
		}
		do()
	})
	s.after(d, try)
}

func (p *simProcess) pause() {
	d := p.s.upTo(3 * p.policy.Lease)
	p.s.tally["pauses"]++
	p.wakes = max(p.wakes, p.s.now+d)
	p.s.note("process %d pauses for %v", p.id, d)
}

// mishap is what may befall a process after it has got a batch.
func (p *simProcess) mishap() {
	s := p.s
	switch {
	case !s.faults:
	case s.chance(6):
		s.after(s.upTo(8*time.Second), p.alive(p.crash))
	case s.chance(4):
		s.after(s.upTo(8*time.Second), p.alive(p.drain))
	}
}

// alive does something if the process has not crashed meanwhile.
func (p *simProcess) alive(do func()) func() {
	life := p.life
	return func() {
		if p.life == life {
			do()
		}
	}
}

// crash ends the process and all that it does. What it had not acknowledged
// comes again.
func (p *simProcess) crash() {
	s := p.s
	s.note("process %d crashes", p.id)
	s.tally["crashes"]++
	p.down, p.wakes = true, 0
	p.newLife()
	for _, b := range p.batches {
		for _, d := range b.members {
			d.gone()
			s.broker.bring(d.message, s.between(0, 2*time.Second))
		}
	}
	p.batches = nil
	s.after(s.upTo(3*time.Second), func() { p.down = false })
}

// drain lets the process finish what runs and start nothing more.
func (p *simProcess) drain() {
	p.s.note("process %d drains", p.id)
	p.s.tally["drains"]++
	p.leaving = context.Canceled
	for _, b := range p.batches {
		for _, d := range b.members {
			p.soon(0, func() { d.redeem(input{err: ErrDraining}) })
		}
	}
	p.drained()
}

// drained begins a new life when nothing is left.
func (p *simProcess) drained() {
	if p.leaving != nil && len(p.batches) == 0 {
		p.s.note("process %d starts again", p.id)
		p.newLife()
	}
}

// newLife forgets what a process knew.
func (p *simProcess) newLife() {
	p.life++
	p.leaving, p.held, p.failing, p.journal.stuck = nil, 0, false, false
	clear(p.journal.entries)
}
