package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// line carries the calls of concurrent callers to one server. A call that finds
// nothing on its way goes by itself, at once and under its caller's context. The
// calls that come meanwhile gather and go together, as one pipeline, when it is
// back, or when they are enough; under load the line thus goes from one full
// pipeline to the next, and the server works on one while callers fill the other.
//
// A caller waits no longer than its context. If its command has not been sent by
// then it never will be; else the command stays in its group, and nobody but
// go-redis touches it any more.
//
// AutoPipeline of go-redis 9.23 is as fast for many callers and half as fast for
// one, who waits for two goroutines. It is not used, because it is experimental,
// cannot take back what has not been sent, and is shared with everybody else who uses the client.
type line struct {
	s *Store

	mu   sync.Mutex // guards what follows
	next *group     // of the calls that gather, nil if there are none
	busy int        // how much is on its way and not overdue
	late int        // how much is overdue
}

// What is on its way for longer than overdue holds nobody up any more: another
// connection may be fine. No more than maxLate go out behind each other so.
// A group that is enough goes while one is on its way, but not a third.
const (
	overdue = 20 * time.Millisecond
	maxLate = 8
	enough  = 16
	maxBusy = 2
)

// group is what travels together.
type group struct {
	done chan struct{} // closed when the commands have been executed, or have failed

	// Guarded by line.mu until sent; then all but left is the sender's.
	cmds     []redis.Cmder // nil where the caller has gone
	deadline time.Time     // the latest of the callers' deadlines
	endless  bool          // a caller has none
	sent     bool
	back     bool
	left     []owner // of claims whose callers have gone since it was sent; guarded by line.mu
}

// departure is one command or group on its way.
type departure struct {
	l     *line
	timer *time.Timer
	late  bool // guarded by line.mu, like back
	back  bool
}

// do executes cmd. After an error cmd must not be read: ctx has ended. sent
// tells whether it may still be executed; the claim of o, if o is not zero, has
// then been left behind.
func (l *line) do(ctx context.Context, cmd redis.Cmder, o owner) (sent bool, err error) {
	l.mu.Lock()
	if l.busy == 0 && l.late < maxLate {
		d := l.depart()
		l.mu.Unlock()
		defer l.arrive(d, nil)
		_ = l.s.client.Process(ctx, cmd) // the command has the error, too
		return true, nil
	}
	g := l.next
	if g == nil {
		g = &group{done: make(chan struct{})}
		l.next = g
	}
	place := len(g.cmds)
	g.cmds = append(g.cmds, cmd)
	if t, ok := ctx.Deadline(); !ok {
		g.endless = true
	} else if t.After(g.deadline) {
		g.deadline = t
	}
	l.proceed()
	l.mu.Unlock()

	select {
	case <-g.done:
		return true, nil
	case <-ctx.Done():
		return l.leave(ctx, g, place, o)
	}
}

// leave takes a caller whose context has ended out of its group.
func (l *line) leave(ctx context.Context, g *group, place int, o owner) (sent bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case g.back:
		return true, nil
	case !g.sent:
		g.cmds[place] = nil
		return false, ctx.Err()
	case o != owner{}:
		g.left = append(g.left, o)
		l.s.left.leave(o)
	}
	return true, ctx.Err()
}

// depart keeps the line busy until arrive, or until that is overdue. The caller
// holds mu.
func (l *line) depart() *departure {
	l.busy++
	d := &departure{l: l}
	d.timer = time.AfterFunc(overdue, d.overdue)
	return d
}

func (d *departure) overdue() {
	l := d.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.back {
		return
	}
	d.late = true
	l.busy--
	l.late++
	l.proceed()
}

// proceed sends the next group if there is one and the line is free for it. The
// caller holds mu.
func (l *line) proceed() {
	g := l.next
	if g == nil || l.late >= maxLate {
		return
	}
	if l.busy > 0 && (l.busy == maxBusy || len(g.cmds) < enough) {
		return
	}
	l.next = nil
	g.sent = true
	d := l.depart()
	l.s.background.add()
	go func() {
		defer l.s.background.done()
		l.exchange(g)
		l.arrive(d, g)
	}()
}

// arrive ends a departure, and tells the callers of its group if it had one.
func (l *line) arrive(d *departure, g *group) {
	l.mu.Lock()
	d.timer.Stop()
	d.back = true
	if d.late {
		l.late--
	} else {
		l.busy--
	}
	l.proceed()
	var left []owner
	if g != nil {
		g.back, left = true, g.left
	}
	l.mu.Unlock()
	if g != nil {
		close(g.done)
	}
	l.s.settle(left)
}

// exchange executes the commands of a group whose callers are still there. It
// goes on for ReadTimeout when they have all gone, so that nothing is on its way
// for long after that.
func (l *line) exchange(g *group) {
	pipe := l.s.client.Pipeline()
	ctx := context.Background()
	if !g.endless {
		until := time.Now().Add(l.s.limits.read)
		if g.deadline.After(until) {
			until = g.deadline
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	for _, cmd := range g.cmds {
		if cmd != nil {
			_ = pipe.Process(ctx, cmd) // only queues
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
}
