package sqlitestore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// call is one call of a caller: steps of records, or work on its own.
type call struct {
	op    string
	steps []step
	alone func(*writer, int64) (changed bool, err error) // in a transaction of its own; nil for steps
	since time.Time
	done  chan struct{}

	// Guarded by line.mu until done is closed.
	taken    bool // it may be applied from now on
	finished bool
	err      error // for the whole call
}

// step is what a call does to one record. What decide finds out it keeps where
// the caller reads it after done.
type step struct {
	key    store.Key // bounded
	hash   hash
	decide func(row *sqlrecord.Row, now int64) (changed bool)
}

type hash = [32]byte

// line has concurrent callers share a write transaction, because what costs is
// its commit. The first call begins one at once; those that come while it waits
// for the lock or commits gather for the next. It is done by one goroutine, which
// ends when no call is left.
//
// A caller waits no longer than its context. If its call has not been taken by
// then it never will be.
type line struct {
	writer *writer
	busy   time.Duration // how long a call waits for the lock

	mu      sync.Mutex // guards what follows
	waiting []*call
	running bool
	closed  bool
	rest    chan struct{} // closed when running ends; nil while nobody waits
}

// mostSteps is how many steps a transaction takes together. A call with more
// goes by itself.
const mostSteps = 1024

var errClosed = errors.New("the store is closed")

// do executes c and returns the error of the whole call.
func (l *line) do(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return failed(c.op, store.NotApplied, err)
	}
	c.done, c.since = make(chan struct{}), time.Now()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return failed(c.op, store.Permanent, errClosed)
	}
	l.waiting = append(l.waiting, c)
	if !l.running {
		l.running = true
		go l.run()
	}
	l.mu.Unlock()

	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return l.leave(ctx, c)
	}
}

// leave takes a caller whose context has ended out of the line.
func (l *line) leave(ctx context.Context, c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.finished:
		return c.err
	case c.taken:
		return failed(c.op, store.Unknown, ctx.Err())
	}
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return failed(c.op, store.NotApplied, ctx.Err())
}

// close refuses further calls, and returns when those before have ended. It
// reports whether it is the first close.
func (l *line) close() bool {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	if !l.running {
		l.mu.Unlock()
		return first
	}
	if l.rest == nil {
		l.rest = make(chan struct{})
	}
	rest := l.rest
	l.mu.Unlock()
	<-rest
	return first
}

// run executes calls until there are none.
func (l *line) run() {
	for l.more() {
		err := l.lock(l.patient)
		switch {
		case isBusy(err):
			l.finish(l.take(l.overdue), store.NotApplied, err)
		case err != nil:
			l.finish(l.take(all), classify(err), err)
		default:
			l.execute(l.take(together))
		}
	}
}

// more reports whether a call waits. If not, run must end.
func (l *line) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		return true
	}
	l.running = false
	if l.rest != nil {
		close(l.rest)
		l.rest = nil
	}
	return false
}

// lock begins a transaction. While another connection has the lock it tries
// again as long as that is wanted: SQLite's own waiting would not know.
func (l *line) lock(wanted func() bool) error {
	for pause := time.Millisecond / 4; ; pause = min(2*pause, 5*time.Millisecond) {
		err := l.writer.begin()
		if !isBusy(err) || !wanted() {
			return err
		}
		time.Sleep(pause)
	}
}

// patient reports whether somebody waits, and nobody for too long.
func (l *line) patient() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0 && l.overdue(l.waiting) == 0
}

// take takes as many calls out of the line as count says, from its head.
func (l *line) take(count func([]*call) int) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := count(l.waiting)
	calls := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	for _, c := range calls {
		c.taken = true
	}
	return calls
}

func all(waiting []*call) int { return len(waiting) }

// overdue counts the calls that have waited for the lock for too long.
func (l *line) overdue(waiting []*call) (n int) {
	for n < len(waiting) && time.Since(waiting[n].since) > l.busy {
		n++
	}
	return n
}

// together counts the calls that share the next transaction.
func together(waiting []*call) (n int) {
	steps := 0
	for _, c := range waiting {
		steps += len(c.steps)
		if n > 0 && (steps > mostSteps || c.alone != nil || waiting[0].alone != nil) {
			break
		}
		n++
	}
	return n
}

// execute does the calls in the transaction that has begun, and tells their
// callers. If they fail together it does them apart, so that nobody fails for
// what another has asked.
func (l *line) execute(calls []*call) {
	class, err := l.writer.apply(calls)
	if err == nil || len(calls) == 1 || class == store.Unknown {
		l.finish(calls, class, err)
		return
	}
	for i, c := range calls {
		err := l.lock(func() bool { return time.Since(c.since) <= l.busy })
		class := classify(err)
		if err == nil {
			class, err = l.writer.apply(calls[i : i+1])
		}
		l.finish(calls[i:i+1], class, err)
	}
}

// finish tells the callers.
func (l *line) finish(calls []*call, class store.Class, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range calls {
		c.finished = true
		if err != nil {
			c.err = failed(c.op, class, err)
		}
		close(c.done)
	}
}
