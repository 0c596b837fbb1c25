package dedup

import (
	"context"
	"sync"
	"time"
)

// runContext is a callback's context: that of its caller, ended also by cancel,
// which knows the runs that the callback is for. What it takes to end a context
// is made when somebody asks for it, which most callbacks never do.
type runContext struct {
	parent context.Context
	runs   []*run

	mu    sync.Mutex      // guards what follows
	real  context.Context // nil until somebody needs it
	end   context.CancelCauseFunc
	over  bool
	cause error
	wider *runContext // of a callback for several runs, which ends with each of them
}

type runKey struct{}

// cancel ends the context with cause; only the first call counts.
func (c *runContext) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over, c.cause = true, cause
	if c.end != nil {
		c.end(cause)
	}
	if c.wider != nil {
		c.wider.cancel(cause)
	}
}

// widen has w end with c, even if c has ended already.
func (c *runContext) widen(w *runContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		w.cancel(c.cause)
		return
	}
	c.wider = w
}

// need makes the real context. The caller holds mu.
func (c *runContext) need() context.Context {
	if c.real == nil {
		c.real, c.end = context.WithCancelCause(c.parent)
		if c.over {
			c.end(c.cause)
		}
	}
	return c.real
}

// Deadline is the caller's.
func (c *runContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done is closed when the caller's context has ended or cancel was called.
func (c *runContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.need().Done()
}

// Err tells whether Done is closed.
func (c *runContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real != nil || c.over {
		return c.need().Err()
	}
	return c.parent.Err()
}

// Value finds the runs and otherwise asks the caller's context; the real one has
// the cause, too.
func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c
	}
	c.mu.Lock()
	ctx := c.parent
	if c.real != nil || c.over {
		ctx = c.need()
	}
	c.mu.Unlock()
	return ctx.Value(key)
}
