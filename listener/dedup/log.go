package dedup

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// report tells the observer and the log, and returns the result.
func (g *Guard) report(ctx context.Context, a *attempt) Result {
	e := Event{
		Key: a.key, Redelivered: a.redelivered, Fallback: a.fallback, Result: a.machine.result,
		WaitTime: a.waitTime, ClaimTime: a.claimTime, HoldTime: a.holdTime, RunTime: a.runTime, SettleTime: a.settleTime,
	}
	if g.options.Observer != nil {
		g.tell(ctx, func() { g.options.Observer.Observe(ctx, e) })
	}
	if a.lead != nil {
		g.copies.leave(a.key, a.lead, e.Outcome.Finished())
	}
	if kind, ok := e.outage(); ok {
		g.logSometimes(ctx, e.level(), kind, e.line)
		return e.Result
	}
	g.log(ctx, e.level(), e.line)
	return e.Result
}

// tell keeps a panic of the observer from the delivery, whose end is settled.
func (g *Guard) tell(ctx context.Context, observe func()) {
	defer func() {
		if v := recover(); v != nil {
			g.log(ctx, slog.LevelError, func() (string, []slog.Attr) {
				return "dedup: observer panicked", []slog.Attr{
					slog.Any("panic", v), slog.String("stack", string(debug.Stack())),
				}
			})
		}
	}()
	observe()
}

// log keeps a panic of the log handler from the delivery too: nobody is left who
// could be told of it.
func (g *Guard) log(ctx context.Context, level slog.Level, line func() (string, []slog.Attr)) {
	defer func() { _ = recover() }()
	if g.options.Logger.Enabled(ctx, level) {
		text, attrs := line()
		g.options.Logger.LogAttrs(ctx, level, text, attrs...)
	}
}

// level is how loud an event is: an error needs somebody's eyes, a warning cost
// a retry for a reason outside the message, the rest is everyday.
func (e *Event) level() slog.Level {
	switch {
	case e.Outcome == Deferred && e.Err != nil && store.ClassOf(e.Err) == store.Permanent:
		return slog.LevelError
	case e.Unrecorded && !e.Unprotected, e.Rearmed, errors.Is(e.Err, ErrCorrupt), errors.Is(e.Err, ErrExhausted):
		return slog.LevelError
	case e.Outcome == Failed, e.Unprotected, e.Cancelled,
		e.Outcome == Deferred && !errors.Is(e.Err, ErrBusy):
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// line is an event as text and attributes.
func (e *Event) line() (string, []slog.Attr) {
	attrs := []slog.Attr{
		slog.String("key", e.Key.String()),
		slog.String("outcome", e.Outcome.String()),
		slog.Duration("claim_time", e.ClaimTime),
	}
	add := func(when bool, attr slog.Attr) {
		if when {
			attrs = append(attrs, attr)
		}
	}
	add(e.Attempt > 0, slog.Int("attempt", e.Attempt))
	add(e.WaitTime > 0, slog.Duration("wait_time", e.WaitTime))
	add(e.HoldTime > 0, slog.Duration("hold_time", e.HoldTime))
	add(e.RunTime > 0, slog.Duration("run_time", e.RunTime))
	add(e.SettleTime > 0, slog.Duration("settle_time", e.SettleTime))
	add(e.Left > 0, slog.Duration("left", e.Left))
	add(e.Completion != 0, slog.String("completion", e.Completion.String()))
	add(e.Redelivered, slog.Bool("redelivered", true))
	add(e.Fallback, slog.Bool("fallback_key", true))
	add(e.Unprotected, slog.Bool("unprotected", true))
	add(e.Unrecorded, slog.Bool("unrecorded", true))
	add(e.Cancelled, slog.Bool("cancelled", true))
	add(e.Rearmed, slog.Bool("rearmed", true))
	add(e.Err != nil, slog.Any("error", e.Err))
	var p *PanicError
	if errors.As(e.Err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	return "dedup: delivery " + e.Outcome.String(), attrs
}
