package line

import (
	"context"
	"slices"
	"time"
)

// trip is what is on its way: a call by itself, or a group.
type trip struct {
	done  chan struct{} // closed when it is back; nil if nobody can wait for that
	timer *time.Timer
	back  bool // guarded by Line.mu, like late
	late  bool
}

// group is what travels together.
type group[C comparable] struct {
	trip

	// Guarded by Line.mu; calls are the sender's once sent.
	calls    []C       // zero where the caller has gone
	deadline time.Time // the latest of the callers'
	endless  bool      // a caller has none
	sent     bool
}

// newGroup has room for n calls, and takes more.
func newGroup[C comparable](n int) *group[C] {
	return &group[C]{trip: trip{done: make(chan struct{})}, calls: make([]C, 0, n)}
}

// add returns the place of the call.
func (g *group[C]) add(ctx context.Context, c C) (place int) {
	g.calls = append(g.calls, c)
	if t, ok := ctx.Deadline(); !ok {
		g.endless = true
	} else if t.After(g.deadline) {
		g.deadline = t
	}
	return len(g.calls) - 1
}

// drop takes out the calls whose callers have gone.
func (g *group[C]) drop() {
	var gone C
	g.calls = slices.DeleteFunc(g.calls, func(c C) bool { return c == gone })
}

// context ends when no caller waits any more, but not before grace.
func (g *group[C]) context(grace time.Duration) (context.Context, context.CancelFunc) {
	if g.endless {
		return context.Background(), func() {}
	}
	until := time.Now().Add(grace)
	if g.deadline.After(until) {
		until = g.deadline
	}
	return context.WithDeadline(context.Background(), until)
}
