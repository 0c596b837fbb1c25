// Package line has the calls of concurrent callers to one database travel
// together. Use this when you write a store whose round trips or commits cost far
// more than what is in them.
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

// Line carries calls of type C, usually pointers, about records named by K. A
// call that finds nothing on its way goes by itself, at once and under its
// caller's context. The calls that come meanwhile gather and go together when
// it is back, or when they are enough; under load the line thus goes from one
// full group to the next.
//
// No call is sent while another one about its record is on its way, whether or
// not that one's caller has gone: a release never overtakes its claim.
type Line[K comparable, C any] struct {
	send   func(context.Context, []C)
	limits Limits

	mu   sync.Mutex         // guards what follows
	next *group[K, C]       // of the calls that gather, nil if there are none
	wire map[K]*group[K, C] // what is on its way
	busy int                // groups on their way and not overdue
	late int                // groups that are overdue
	own  int                // groups with a goroutine
	rest chan struct{}      // closed when own becomes 0; nil while nobody waits
}

// group is what travels together.
type group[K comparable, C any] struct {
	done chan struct{} // closed when it is back

	// Guarded by Line.mu; keys, calls and gone are the sender's once sent.
	keys     []K
	calls    []C
	gone     []bool    // the caller left before the call was sent
	deadline time.Time // the latest of the callers'
	endless  bool      // a caller has none
	sent     bool
	back     bool
	late     bool
	timer    *time.Timer
}

// New returns a Line that has send execute the calls of a group. Each call
// holds its own result.
func New[K comparable, C any](limits Limits, send func(context.Context, []C)) *Line[K, C] {
	return &Line[K, C]{send: send, limits: limits, wire: map[K]*group[K, C]{}}
}

// Do executes c. After an error c must not be read: ctx has ended. sent tells
// whether it has been or may still be executed.
func (l *Line[K, C]) Do(ctx context.Context, key K, c C) (sent bool, err error) {
	l.mu.Lock()
	for before := l.wire[key]; before != nil; before = l.wire[key] {
		l.mu.Unlock()
		select {
		case <-before.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		l.mu.Lock()
	}
	if l.next == nil && l.busy == 0 && l.late < l.limits.MaxLate {
		g := newGroup[K, C]()
		g.add(ctx, key, c)
		l.depart(g)
		l.mu.Unlock()
		l.send(ctx, g.calls)
		l.arrive(g)
		return true, nil
	}
	if l.next == nil {
		l.next = newGroup[K, C]()
	}
	g, place := l.next, len(l.next.calls)
	g.add(ctx, key, c)
	l.proceed()
	l.mu.Unlock()

	select {
	case <-g.done:
		return true, nil
	case <-ctx.Done():
		return l.leave(ctx, g, place)
	}
}

// leave takes a caller whose context has ended out of its group.
func (l *Line[K, C]) leave(ctx context.Context, g *group[K, C], place int) (sent bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.back {
		return true, nil
	}
	if !g.sent {
		g.gone[place] = true
	}
	return g.sent, ctx.Err()
}

// Wait returns when no group is on its way whose callers may have gone, or with
// the error of ctx when that ends first.
func (l *Line[K, C]) Wait(ctx context.Context) error {
	l.mu.Lock()
	if l.own == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.rest == nil {
		l.rest = make(chan struct{})
	}
	rest := l.rest
	l.mu.Unlock()
	select {
	case <-rest:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newGroup[K comparable, C any]() *group[K, C] {
	return &group[K, C]{done: make(chan struct{})}
}

func (g *group[K, C]) add(ctx context.Context, key K, c C) {
	g.keys, g.calls, g.gone = append(g.keys, key), append(g.calls, c), append(g.gone, false)
	if t, ok := ctx.Deadline(); !ok {
		g.endless = true
	} else if t.After(g.deadline) {
		g.deadline = t
	}
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
	l.depart(g)
	l.own++
	go func() {
		ctx, cancel := g.context(l.limits.Grace)
		defer cancel()
		if len(g.calls) > 0 {
			l.send(ctx, g.calls)
		}
		l.arrive(g)
		l.end()
	}()
}

// end is the last thing that the goroutine of a group does.
func (l *Line[K, C]) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own--; l.own == 0 && l.rest != nil {
		close(l.rest)
		l.rest = nil
	}
}

// drop takes out the calls whose callers have gone.
func (g *group[K, C]) drop() {
	n := 0
	for i, gone := range g.gone {
		if !gone {
			g.keys[n], g.calls[n] = g.keys[i], g.calls[i]
			n++
		}
	}
	clear(g.calls[n:])
	g.keys, g.calls = g.keys[:n], g.calls[:n]
}

// context ends when no caller waits any more, but not before grace.
func (g *group[K, C]) context(grace time.Duration) (context.Context, context.CancelFunc) {
	if g.endless {
		return context.WithCancel(context.Background())
	}
	until := time.Now().Add(grace)
	if g.deadline.After(until) {
		until = g.deadline
	}
	return context.WithDeadline(context.Background(), until)
}

// depart puts a group on its way. The caller holds mu.
func (l *Line[K, C]) depart(g *group[K, C]) {
	g.sent = true
	for _, k := range g.keys {
		l.wire[k] = g
	}
	l.busy++
	g.timer = time.AfterFunc(l.limits.Overdue, func() { l.overdue(g) })
}

func (l *Line[K, C]) overdue(g *group[K, C]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.back {
		return
	}
	g.late = true
	l.busy--
	l.late++
	l.proceed()
}

// arrive tells the callers of a group that it is back.
func (l *Line[K, C]) arrive(g *group[K, C]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.timer.Stop()
	g.back = true
	for _, k := range g.keys {
		if l.wire[k] == g {
			delete(l.wire, k)
		}
	}
	if g.late {
		l.late--
	} else {
		l.busy--
	}
	close(g.done)
	l.proceed()
}
