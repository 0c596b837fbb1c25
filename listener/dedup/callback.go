package dedup

import (
	"context"
	"runtime/debug"
	"slices"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// call runs fn in its own goroutine and returns its error, its panic or its
// runtime.Goexit as an error.
func call(ctx context.Context, fn func(context.Context) error) error {
	done := make(chan error, 1)
	go perform(func() error { return fn(ctx) }, func(err error) { done <- err })
	return <-done
}

// perform calls fn and tells done how it ended. After a runtime.Goexit it does
// not return.
func perform(fn func() error, done func(error)) {
	err := ErrGoexit // stays when fn neither returns nor panics
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		done(err)
	}()
	err = fn()
}

// around is the context of the innermost callback that ctx belongs to, or nil.
func around(ctx context.Context) *runContext {
	c, _ := ctx.Value(runKey{}).(*runContext)
	return c
}

// inside reports whether c, or a callback around it, runs k.
func (c *runContext) inside(k *store.Key) bool {
	for ; c != nil; c = around(c.parent) {
		if slices.ContainsFunc(c.runs, func(r *run) bool { return r.key == *k }) {
			return true
		}
	}
	return false
}

// Running describes the claim under which a callback runs.
type Running struct {
	Key         store.Key
	Attempt     int  // from 1; above 1 an earlier attempt started and did not complete
	Unprotected bool // there is no claim, by OutageRun
}

// FromContext returns the claim that ctx's callback runs under. It answers
// false outside a callback and in one that runs for several keys.
func FromContext(ctx context.Context) (Running, bool) {
	r := only(ctx)
	if r == nil {
		return Running{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return Running{r.key, r.machine.result.Attempt, r.machine.result.Unprotected}, true
}

func only(ctx context.Context) *run {
	c := around(ctx)
	if c == nil || len(c.runs) != 1 {
		return nil
	}
	return c.runs[0]
}
