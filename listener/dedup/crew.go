package dedup

import (
	"context"
	"sync"
	"time"
)

// patience is how long one worker is left alone with the callbacks of a batch
// when those of the batch before were quick.
const patience = 100 * time.Microsecond

// crew runs the callbacks of one batch. To start a goroutine for each would cost
// more than a quick callback does, so after a quick batch one worker begins and
// the others come only if it is not through soon.
type crew struct {
	guard *Guard
	ctx   context.Context
	fn    func(context.Context, int) error
	limit int  // of workers
	alone bool // one worker is left alone for now

	begun chan struct{} // filled when a member is there to be gathered
	over  chan struct{} // closed when all members are

	mu      sync.Mutex // guards what follows
	waiting []*member  // for a worker
	ended   []*member  // to be gathered
	left    int        // not ended
	working int
	busy    time.Duration // the time in callbacks
}

// admit gives the crew its members, but for those that are held.
func (c *crew) admit(members []member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.ended = make([]*member, 0, len(members)), make([]*member, 0, len(members))
	for i := range members {
		if members[i].act.kind != actHold {
			c.take(&members[i])
		}
	}
	if c.alone = c.guard.quick.Load(); c.alone {
		c.hire(1)
	} else {
		c.hire(c.limit)
	}
}

// join gives the crew members that were held.
func (c *crew) join(members []*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range members {
		c.take(m)
	}
	c.hire(c.limit)
}

// take has m run, or end if it needs no callback. The caller holds mu, and hires.
func (c *crew) take(m *member) {
	if m.act.kind == actRun {
		c.waiting = append(c.waiting, m)
	} else {
		c.end(m)
	}
}

// hire brings the crew to n workers, but no more than there is work for. The
// caller holds mu.
func (c *crew) hire(n int) {
	for range min(n-c.working, len(c.waiting)) {
		c.working++
		go c.work()
	}
}

// work runs callbacks until none waits. When a callback ends the goroutine, by
// runtime.Goexit, another worker goes on.
func (c *crew) work() {
	var m *member
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.working--; m != nil {
			c.end(m)
			c.hire(c.working + 1)
		}
	}()
	for m = c.next(nil); m != nil; m = c.next(m) {
		if c.guard.begin(c.ctx, m); m.act.kind == actRun {
			perform(func() error { return c.fn(&m.ctx, m.index) }, func(err error) {
				m.act = c.guard.returned(&m.run, err)
			})
		}
	}
}

// next ends m, if there is one, and returns the next member that waits, or nil.
func (c *crew) next(m *member) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m != nil {
		c.end(m)
	}
	if len(c.waiting) == 0 {
		return nil
	}
	m, c.waiting = c.waiting[0], c.waiting[1:]
	return m
}

// end hands m over to be gathered. The caller holds mu.
func (c *crew) end(m *member) {
	c.ended = append(c.ended, m)
	c.busy += m.runTime
	if c.left--; c.left == 0 {
		close(c.over)
	} else if len(c.ended) == 1 {
		select {
		case c.begun <- struct{}{}:
		default: // it is still filled
		}
	}
}

// gather waits for a member that has ended, and for a moment for more of them.
// over tells that these are the last.
func (c *crew) gather() (group []*member, over bool) {
	var gathered, lonely <-chan time.Time
	if c.alone {
		lonely = time.After(patience)
	}
	for {
		select {
		case <-c.over:
			return c.collect(), true
		case <-c.begun:
			gathered = time.After(gatherTime)
		case <-gathered:
			return c.collect(), false
		case <-lonely:
			c.alone = false
			c.mu.Lock()
			c.hire(c.limit)
			c.mu.Unlock()
		}
	}
}

func (c *crew) collect() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 && c.guard.quick.Load() != (c.busy < patience) {
		c.guard.quick.Store(c.busy < patience)
	}
	group := c.ended
	c.ended = nil
	return group
}
