package dedup

import (
	"context"
	"errors"
	"sync"
)

// ErrNoFence says that there is no claim to draw a fence for: ctx is not that
// of a callback for one key, the callback runs unprotected, or the store has no
// fences.
var ErrNoFence = errors.New("dedup: no fence here")

type fence struct {
	guard *Guard     // nil if there is nothing to draw from
	mu    sync.Mutex // held while drawing
	value int64
}

// Fence returns a number that is higher than that of every earlier owner of the
// callback's key, for resources that reject writes of a zombie. The first call
// draws it from the store, further calls return the same number. Safe for
// concurrent use. When the claim is lost it fails with [store.ErrNotOwner].
func Fence(ctx context.Context) (int64, error) {
	r := only(ctx)
	if r == nil || r.fence.guard == nil {
		return 0, ErrNoFence
	}
	r.fence.mu.Lock()
	defer r.fence.mu.Unlock()
	if r.fence.value != 0 {
		return r.fence.value, nil
	}
	v, err := r.fence.guard.draw(ctx, r)
	if err != nil {
		return 0, err
	}
	r.fence.value = v
	return v, nil
}

// fencing lets r draw fences.
func (g *Guard) fencing(r *run) {
	if g.fencer != nil && !r.machine.result.Unprotected {
		r.fence.guard = g
	}
}

// draw draws a fence. Repeating that is safe: fences may have gaps.
func (g *Guard) draw(ctx context.Context, r *run) (int64, error) {
	ctx, done := g.deadline(ctx)
	defer done()
	return g.fencer.Fence(ctx, r.key, r.token)
}
