package dedup

import (
	"context"
	"errors"
	"log/slog"
)

// report tells the observer and the log, and returns the result.
func (g *Guard) report(ctx context.Context, a *attempt) Result {
	e := Event{
		Key: a.key, Redelivered: a.redelivered, Fallback: a.fallback, Result: a.machine.result,
		ClaimTime: a.claimTime, RunTime: a.runTime, SettleTime: a.settleTime,
	}
	if g.options.Observer != nil {
		g.options.Observer.Observe(ctx, e)
	}
	if level := e.level(); g.options.Logger.Enabled(ctx, level) {
		g.log(ctx, level, e)
	}
	return e.Result
}

// level is how loud an event is: an error needs somebody's eyes, a warning cost
// a retry for a reason outside the message, the rest is everyday.
func (e *Event) level() slog.Level {
	switch {
	case e.Unrecorded, e.Rearmed, errors.Is(e.Err, ErrCorrupt), errors.Is(e.Err, ErrExhausted):
		return slog.LevelError
	case e.Outcome == Failed, e.Unprotected, e.Cancelled,
		e.Outcome == Deferred && !errors.Is(e.Err, ErrBusy):
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (g *Guard) log(ctx context.Context, level slog.Level, e Event) {
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
	g.options.Logger.LogAttrs(ctx, level, "dedup: delivery "+e.Outcome.String(), attrs...)
}
