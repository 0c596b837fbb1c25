// Package line has the calls of concurrent callers to one server travel together.
// Use this when you write a store whose round trips or commits cost far more than
// what is in them.
package line

import (
	"context"
	"sync"
	"time"
)

// Limits are how much may be on its way. All are required.
type Limits struct {
	MaxBusy int           // groups on their way that are not overdue
	Enough  int           // calls that need not wait for a group to be back, if fewer than MaxBusy are on their way
	Overdue time.Duration // what is on its way for longer holds nobody up any more
	MaxLate int           // groups that are overdue
	Grace   time.Duration // how long a group may take although all its callers have gone
}

// Line carries calls of type C, usually pointers; the zero value is none. A
// call that finds nothing on its way goes by itself, at once and under its
// caller's context. The calls that come meanwhile gather and go together when
// it is back, or when they are enough; under load the line thus goes from one
// full group to the next, and the server works on one while callers fill the
// other.
//
// A caller waits no longer than its context. If its call has not been sent by
// then it never will be; else it stays in its group.
//
// Calls may also be kept apart by the record, named by K, that they are about:
// none is sent while another one about its record is on its way, whether or not
// that one's caller has gone. A server whose statements wait for each other's
// locks wants that. One that takes a moment for each gains nothing, and the copies
// of a key would go one by one.
type Line[K, C comparable] struct {
	limits     Limits
	background *Activity
	record     func(C) K // nil if calls about one record may be on their way together
	send       func(context.Context, []C)

	mu   sync.Mutex  // guards what follows
	next *group[C]   // of the calls that gather, nil if there are none
	wire map[K]*trip // what is on its way; unused if record is nil
	busy int         // trips that are not overdue
	late int         // trips that are overdue
}

// New returns a Line that has send execute the calls of a group, which it may put
// in another order. Each call holds its own result. Groups whose callers may have
// gone are sent in the background. Calls for which record, if it is not nil,
// returns the same are kept apart.
func New[K, C comparable](limits Limits, background *Activity, record func(C) K,
	send func(context.Context, []C)) *Line[K, C] {
	return &Line[K, C]{
		limits: limits, background: background, record: record, send: send, wire: map[K]*trip{},
	}
}

// Do executes c. After an error, which is that of ctx, c must not be read, and
// behind tells whether it may still be executed: not if it is nil, else until it
// is closed.
func (l *Line[K, C]) Do(ctx context.Context, c C) (behind <-chan struct{}, err error) {
	l.mu.Lock()
	if err := l.pass(ctx, c); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	if l.busy == 0 && l.late < l.limits.MaxLate {
		alone := &struct {
			trip
			calls [1]C
		}{calls: [1]C{c}}
		l.depart(&alone.trip, alone.calls[:])
		l.mu.Unlock()
		defer l.arrive(&alone.trip, alone.calls[:]) // even if send panics
		l.send(ctx, alone.calls[:])
		return nil, nil
	}
	if l.next == nil {
		l.next = newGroup[C](l.limits.Enough)
	}
	g := l.next
	place := g.add(ctx, c)
	l.proceed()
	l.mu.Unlock()

	select {
	case <-g.done:
		return nil, nil
	case <-ctx.Done():
		return l.leave(ctx, g, place)
	}
}

// pass waits until nothing about the record of c is on its way. The caller holds
// mu, and does so again afterwards.
func (l *Line[K, C]) pass(ctx context.Context, c C) error {
	if l.record == nil {
		return nil
	}
	k := l.record(c)
	for before := l.wire[k]; before != nil; before = l.wire[k] {
		l.mu.Unlock()
		var err error
		select {
		case <-before.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// leave takes a caller whose context has ended out of its group.
func (l *Line[K, C]) leave(ctx context.Context, g *group[C], place int) (behind <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case g.back:
		return nil, nil
	case g.sent:
		return g.done, ctx.Err()
	}
	var gone C
	g.calls[place] = gone
	return nil, ctx.Err()
}

// proceed sends the next group if there is one and the line is free for it. The
// caller holds mu.
func (l *Line[K, C]) proceed() {
	g := l.next
	if g == nil || l.late >= l.limits.MaxLate {
		return
	}
	if l.busy > 0 && (l.busy >= l.limits.MaxBusy || len(g.calls) < l.limits.Enough) {
		return
	}
	l.next = nil
	g.drop()
	g.sent = true
	l.depart(&g.trip, g.calls)
	l.background.Go(func() {
		defer l.arrive(&g.trip, g.calls)
		ctx, cancel := g.context(l.limits.Grace)
		defer cancel()
		if len(g.calls) > 0 {
			l.send(ctx, g.calls)
		}
	})
}

// depart puts calls on their way. The caller holds mu.
func (l *Line[K, C]) depart(t *trip, calls []C) {
	if l.record != nil {
		if t.done == nil {
			t.done = make(chan struct{})
		}
		for _, c := range calls {
			l.wire[l.record(c)] = t
		}
	}
	l.busy++
	t.timer = time.AfterFunc(l.limits.Overdue, func() { l.overdue(t) })
}

func (l *Line[K, C]) overdue(t *trip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.back {
		return
	}
	t.late = true
	l.busy--
	l.late++
	l.proceed()
}

// arrive tells the callers that their calls are back.
func (l *Line[K, C]) arrive(t *trip, calls []C) {
	l.land(t, calls)
	if t.done != nil {
		close(t.done)
	}
}

// land takes calls that are back off their way.
func (l *Line[K, C]) land(t *trip, calls []C) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.timer.Stop()
	t.back = true
	if l.record != nil {
		for _, c := range calls {
			delete(l.wire, l.record(c))
		}
	}
	if t.late {
		l.late--
	} else {
		l.busy--
	}
	l.proceed()
}
