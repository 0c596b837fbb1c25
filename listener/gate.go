package listener

import (
	"context"
	"errors"
	"sync"
)

// ErrDraining is the cause with which callbacks are cancelled that are still
// running when a drain runs out of time.
var ErrDraining = errors.New("listener: drain ran out of time")

// gate counts the callbacks inside and can be closed: whoever comes then waits
// outside until it is opened for good.
type gate struct {
	life   context.Context // ends when running callbacks are to stop
	cancel context.CancelCauseFunc

	closing chan struct{} // closed with the gate
	idle    chan struct{} // closed when the gate is closed and nobody is inside
	over    chan struct{} // closed when those who wait may go

	mu     sync.Mutex // guards what follows
	inside int
	closed bool
}

func newGate() *gate {
	life, cancel := context.WithCancelCause(context.Background())
	return &gate{
		life: life, cancel: cancel,
		closing: make(chan struct{}), idle: make(chan struct{}), over: make(chan struct{}),
	}
}

// enter reports whether the caller may run. It waits while the gate is closed,
// because an answer before the consumer has stopped would cost a retry.
func (g *gate) enter() bool {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.inside++
	}
	g.mu.Unlock()
	if closed {
		<-g.over
	}
	return !closed
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.closed && g.inside == 0 {
		close(g.idle)
	}
}

// close shuts the gate and reports whether this call did it.
func (g *gate) close() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.closed = true
	close(g.closing)
	if g.inside == 0 {
		close(g.idle)
	}
	return true
}

// closes reports whether close was called.
func (g *gate) closes() bool {
	select {
	case <-g.closing:
		return true
	default:
		return false
	}
}

func (g *gate) running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// lifetime is a context that ends with a gate's life and has the values of
// another one.
type lifetime struct {
	context.Context
	values context.Context
}

// Value asks the life first, which knows how to end its children cheaply.
func (c lifetime) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// attach returns ctx, ended also by the end of the gate's life.
func (g *gate) attach(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Done() == nil { // the client's own contexts never end
		return lifetime{g.life, ctx}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.life, func() { cancel(context.Cause(g.life)) })
	return ctx, func() { stop(); cancel(nil) }
}
