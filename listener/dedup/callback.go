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
	launch(ctx, fn, func(err error) { done <- err })
	return <-done
}

// launch runs fn in its own goroutine and tells done how it ended.
func launch(ctx context.Context, fn func(context.Context) error, done func(error)) {
	go func() {
		err := ErrGoexit // stays when fn neither returns nor panics
		defer func() {
			if v := recover(); v != nil {
				err = &PanicError{Value: v, Stack: debug.Stack()}
			}
			done(err)
		}()
		err = fn(ctx)
	}()
}

// runContext is a callback's context: it knows the runs that the callback is for.
type runContext struct {
	context.Context
	runs []*run
}

type runKey struct{}

// Value finds the runs and otherwise asks the caller's context.
func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func enter(ctx context.Context, runs ...*run) (*runContext, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &runContext{Context: ctx, runs: runs}, cancel
}

// inside reports whether ctx belongs to a callback that runs k.
func inside(ctx context.Context, k store.Key) bool {
	for {
		c, ok := ctx.Value(runKey{}).(*runContext)
		if !ok {
			return false
		}
		if slices.ContainsFunc(c.runs, func(r *run) bool { return r.key == k }) {
			return true
		}
		ctx = c.Context
	}
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
	c, ok := ctx.Value(runKey{}).(*runContext)
	if !ok || len(c.runs) != 1 {
		return nil
	}
	return c.runs[0]
}
