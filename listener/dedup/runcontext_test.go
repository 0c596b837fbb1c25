package dedup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

type testKey struct{}

func newRunContext(parent context.Context) *runContext { return &runContext{parent: parent} }

func TestARunContextEndsHoweverItIsAsked(t *testing.T) {
	because := errors.New("because")
	for name, ask := range map[string]func(context.Context){
		"before, by nothing": func(context.Context) {},
		"before, by Done":    func(ctx context.Context) { _ = ctx.Done() },
		"before, by a child": func(ctx context.Context) { _, cancel := context.WithCancel(ctx); t.Cleanup(cancel) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := newRunContext(context.WithValue(t.Context(), testKey{}, "value"))
			ask(ctx)
			if err, cause := ctx.Err(), context.Cause(ctx); err != nil || cause != nil {
				t.Errorf("before: got %v, %v, want nil", err, cause)
			}
			ctx.cancel(because)
			ctx.cancel(errors.New("another"))
			if err, cause := ctx.Err(), context.Cause(ctx); err != context.Canceled || cause != because {
				t.Errorf("after: got %v, %v, want %v, %v", err, cause, context.Canceled, because)
			}
			<-ctx.Done()
			if got := ctx.Value(testKey{}); got != "value" {
				t.Errorf("value: got %v", got)
			}
		})
	}
}

func TestARunContextEndsWithItsCallers(t *testing.T) {
	because := errors.New("because")
	parent, cancel := context.WithCancelCause(t.Context())
	ctx := newRunContext(parent)
	asked := newRunContext(parent)
	_ = asked.Done()
	cancel(because)
	for _, c := range []*runContext{ctx, asked} {
		<-c.Done()
		if err, cause := c.Err(), context.Cause(c); err != context.Canceled || cause != because {
			t.Errorf("got %v, %v, want %v, %v", err, cause, context.Canceled, because)
		}
	}
}

func TestAChildOfARunContextEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := newRunContext(t.Context())
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx.cancel(ErrLeaseLost)
		if child.Err() == nil || context.Cause(child) != ErrLeaseLost { // at once, without a goroutine
			t.Errorf("got %v, %v, want %v", child.Err(), context.Cause(child), ErrLeaseLost)
		}
	})
}

func TestAWiderContextEndsWithTheFirstOfItsMembers(t *testing.T) {
	before, after, wide := newRunContext(t.Context()), newRunContext(t.Context()), newRunContext(t.Context())
	after.widen(wide)
	after.cancel(ErrMaxConsume)
	if got := context.Cause(wide); got != ErrMaxConsume {
		t.Errorf("cause: got %v, want %v", got, ErrMaxConsume)
	}
	late := newRunContext(t.Context())
	before.cancel(ErrLeaseLost)
	before.widen(late)
	if got := context.Cause(late); got != ErrLeaseLost {
		t.Errorf("cause: got %v, want %v", got, ErrLeaseLost)
	}
}
