package dedup

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simJournal is what a process has still to record. A crash loses it.
type simJournal struct {
	p       *simProcess
	room    int
	entries map[*simKey]*simEntry // never ranged over: that would be another run each time
	stuck   bool                  // the last try failed
}

type simEntry struct {
	token   int
	strict  bool
	waiting []*simDelivery
}

// full reports whether the process must not claim any more.
func (j *simJournal) full() bool { return len(j.entries) >= j.room }

// remember has the success of d recorded and lets d wait for that.
func (j *simJournal) remember(d *simDelivery, limit time.Duration) {
	j.p.s.tally["successes journaled"]++
	if j.full() && d.machine.result.Unprotected {
		d.step(input{kind: inJournaled, err: d.machine.result.Err})
		return
	}
	e := j.entries[d.key]
	if e == nil {
		e = &simEntry{token: d.token, strict: d.machine.strict()}
		j.entries[d.key] = e
		j.try(d.key, e)
	}
	e.waiting = append(e.waiting, d)
	j.p.soon(limit, func() { d.redeem(input{err: errTimeout}) })
}

// try records one success, again and again.
func (j *simJournal) try(k *simKey, e *simEntry) {
	s := j.p.s
	j.p.soon(s.upTo(probePause), func() {
		if s.store.down || s.faults && s.chance(20) {
			if s.chance(30) { // only the answer is lost
				s.store.complete(k, e.token)
			}
			j.stuck = true
			j.try(k, e)
			return
		}
		completion := s.store.complete(k, e.token)
		j.stuck = false
		delete(j.entries, k)
		for _, d := range e.waiting {
			d.redeem(input{completion: completion})
		}
	})
}

// redeem ends the wait of d for the journal, unless it has ended.
func (d *simDelivery) redeem(in input) {
	if d.machine.phase == journaling {
		in.kind = inJournaled
		d.step(in)
	}
}

// first is how a delivery begins: with a claim, unless the journal has its key.
func (j *simJournal) first(d *simDelivery) input {
	e := j.entries[d.key]
	switch {
	case e == nil:
		return input{kind: inStart}
	case e.strict:
		return input{kind: inAborted, err: ErrUnrecorded}
	}
	return input{kind: inClaimed, verdict: store.Verdict{State: store.Done}}
}
