package dedup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"
)

// simClock is the simulation's time: a queue of what is to happen, and chance.
// Everything happens in one goroutine and by one seed.
type simClock struct {
	rng    *rand.Rand
	now    time.Duration
	queue  []simEvent // a heap by time, then by order of entry
	events int        // entered so far
	log    *bytes.Buffer
}

type simEvent struct {
	at    time.Duration
	order int
	do    func()
}

func (e simEvent) before(other simEvent) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// after lets do happen d from now.
func (c *simClock) after(d time.Duration, do func()) {
	c.events++
	q := append(c.queue, simEvent{c.now + d, c.events, do})
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
	c.queue = q
}

// next moves time to the next event and returns it.
func (c *simClock) next() func() {
	q := c.queue
	first, last := q[0], len(q)-1
	q[0], q[last] = q[last], simEvent{}
	q = q[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < last && q[down+1].before(q[down]) {
			down++
		}
		if down >= last || !q[down].before(q[i]) {
			break
		}
		q[i], q[down] = q[down], q[i]
		i = down
	}
	c.queue, c.now = q, first.at
	return first.do
}

func (c *simClock) chance(percent int) bool { return c.rng.IntN(100) < percent }

func (c *simClock) upTo(d time.Duration) time.Duration { return time.Duration(c.rng.Int64N(int64(d))) }

func (c *simClock) between(low, high time.Duration) time.Duration { return low + c.upTo(high-low) }

// note writes a line of the run's log, if it is wanted.
func (c *simClock) note(format string, args ...any) {
	if c.log != nil {
		fmt.Fprintf(c.log, "%12v ", c.now)
		fmt.Fprintf(c.log, format+"\n", args...)
	}
}
