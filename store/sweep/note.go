package sweep

import (
	"context"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// firstRepeat is how long the first repeat of a step that failed waits.
const firstRepeat = time.Second

// note counts a step, logs what has changed by it, and returns the rest that its
// answer asks for.
func (l *Loop) note(ctx context.Context, n int, err error) time.Duration {
	l.mu.Lock()
	was := l.stats
	rest := l.count(ctx, n, err)
	now := l.stats
	l.mu.Unlock()
	l.tell(ctx, was, now)
	return rest
}

// count is called under the mutex.
func (l *Loop) count(ctx context.Context, n int, err error) time.Duration {
	s := &l.stats
	s.Removed += int64(n)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0 // the step was cut short, which tells nothing
	case err != nil:
		s.Err = err
		s.Failures++
		return jittered(min(l.options.Every, firstRepeat<<min(s.Failures-1, 20)))
	}
	s.Err, s.Failures = nil, 0
	if n >= l.options.Batch {
		return 0
	}
	s.Passes++
	s.LastPass = time.Now()
	return jittered(l.options.Every)
}

// tell logs an error that the step before did not have, and the end of errors.
func (l *Loop) tell(ctx context.Context, was, now Stats) {
	switch {
	case now.Err == nil && was.Err != nil:
		l.options.Logger.LogAttrs(ctx, slog.LevelInfo, "sweep: expired records are removed again",
			slog.Int("failures", was.Failures))
	case now.Err != nil && (was.Err == nil || was.Err.Error() != now.Err.Error()):
		level, class := slog.LevelWarn, store.ClassOf(now.Err)
		if class == store.Permanent {
			level = slog.LevelError
		}
		l.options.Logger.LogAttrs(ctx, level, "sweep: expired records are not removed and take up room",
			slog.Any("error", now.Err), slog.String("class", class.String()))
	}
}
