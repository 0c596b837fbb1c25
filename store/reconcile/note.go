package reconcile

import (
	"context"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// leave counts and logs a record that stays as it is.
func (p *pass) leave(ctx context.Context, rec *store.Record, counter *int64, reason error) {
	*counter++
	n := p.known.of(rec, p.options.Lease)
	age := time.Since(n.since)
	p.stats.Oldest = max(p.stats.Oldest, age)
	level := slog.LevelWarn
	if n.told {
		level = slog.LevelDebug
	}
	n.told = true
	p.options.Logger.LogAttrs(ctx, level, "reconcile: a claim is overdue and is left so",
		slog.String("key", rec.Key.String()), slog.Duration("age", age), slog.Int("attempts", rec.Attempt),
		slog.Any("reason", reason))
}

// tell logs a pass that found something, an error that the pass before did not
// have, and the end of errors.
func (r *Reconciler) tell(ctx context.Context, before, s Stats) {
	if s.Found > 0 {
		level := slog.LevelInfo
		if s.Unknown+s.GivenUp > 0 {
			level = slog.LevelWarn
		}
		r.options.Logger.LogAttrs(ctx, level, "reconcile: claims were overdue", slog.Int64("found", s.Found),
			slog.Int64("completed", s.Completed), slog.Int64("retried", s.Retried), slog.Int64("given_up", s.GivenUp),
			slog.Int64("unknown", s.Unknown), slog.Int64("skipped", s.Skipped), slog.Int64("failed", s.Failed),
			slog.Duration("oldest_left", s.Oldest))
	}
	switch {
	case s.Err == nil && before.Err != nil && ctx.Err() == nil:
		r.options.Logger.LogAttrs(ctx, slog.LevelInfo, "reconcile: nothing fails any more")
	case s.Err != nil && (before.Err == nil || before.Err.Error() != s.Err.Error()):
		level, class := slog.LevelWarn, store.ClassOf(s.Err)
		if class == store.Permanent {
			level = slog.LevelError
		}
		r.options.Logger.LogAttrs(ctx, level, "reconcile: overdue claims are not ended",
			slog.Any("error", s.Err), slog.String("class", class.String()))
	}
}
