package dedup

import (
	"container/list"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// probePause is the longest pause between two tries while the store fails.
	probePause = 500 * time.Millisecond
	// maxTurns bounds the tries that are under way once it answers.
	maxTurns = 64
)

// errWaited says that a delivery has waited for a turn as long as it may.
var errWaited = errors.New("dedup: no turn in time")

// circuit gives the held deliveries of a guard turns to try again, the longest
// waiting first. While the store fails there is one try at a time, and a pause
// after each. Every success lets two follow, every failure halves their number:
// a store that comes back is not overrun, and all have resumed a moment later.
type circuit struct {
	draining <-chan struct{} // closed when nobody waits any more

	mu     sync.Mutex // guards what follows
	queue  list.List  // of chan struct{}, closed when it is its owner's turn
	held   int        // deliveries between enter and leave
	trying int        // turns under way
	width  int        // how many may be
	down   bool       // the last try that counted has failed
	paused bool
	timer  *time.Timer // ends the pause
}

func newCircuit(draining <-chan struct{}) *circuit { return &circuit{draining: draining} }

// isDown reports whether held deliveries find that the store does not answer.
func (c *circuit) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *circuit) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// enter counts n deliveries whose claims have failed and reports whether they
// are the first.
func (c *circuit) enter(n int) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = c.held == 0
	if c.held += n; first {
		c.width, c.down = 1, true
		c.pause()
	}
	return first
}

// leave takes n of them out and reports whether none is left.
func (c *circuit) leave(n int) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held -= n; n == 0 || c.held > 0 {
		return false
	}
	c.down, c.paused = false, false
	c.timer.Stop()
	return true
}

// await returns nil when it is the caller's turn, which ends with report.
func (c *circuit) await(ctx context.Context, limit time.Duration) (err error) {
	turn := make(chan struct{})
	c.mu.Lock()
	place := c.queue.PushBack(turn)
	c.admit()
	c.mu.Unlock()
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-turn:
		return nil
	case <-over.C:
		err = errWaited
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.draining:
		err = ErrDraining
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-turn: // at the same moment
		c.trying--
		c.admit()
	default:
		c.queue.Remove(place)
	}
	return err
}

// report ends a turn.
func (c *circuit) report(answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying--
	switch {
	case answered:
		c.width, c.down = min(2*c.width, maxTurns), false
	case c.width > 1:
		c.width /= 2
	default:
		c.down = true
		c.pause()
	}
	c.admit()
}

// admit gives turns to those who have waited longest. The caller holds mu.
func (c *circuit) admit() {
	for !c.paused && c.trying < c.width && c.queue.Len() > 0 {
		close(c.queue.Remove(c.queue.Front()).(chan struct{}))
		c.trying++
	}
}

// pause keeps everybody waiting for a moment. The caller holds mu.
func (c *circuit) pause() {
	c.paused = true
	if c.timer != nil {
		c.timer.Reset(spread())
		return
	}
	c.timer = time.AfterFunc(spread(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paused = false
		c.admit()
	})
}

// spread is a pause between tries.
func spread() time.Duration { return probePause/2 + rand.N(probePause/2) }
