package dedup

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// repeatEvery is how often the log tells of one kind of outage. During an outage
// every delivery ends in the same line.
const repeatEvery = 10 * time.Second

// outage is a kind of line: what a store that does not answer makes of
// deliveries. The class is 0 for those that ran unprotected. The outcome is 0 for
// what a watch says.
type outage struct {
	outcome Outcome
	class   store.Class
	held    bool // of a whole guard that holds messages, and no more when outcome is Ran
}

// outage reports whether e tells of nothing but the store. An effect of a claim
// that is not recorded, a callback that failed and a message on its way to the
// dead-letter queue are about their own key, and have a line each.
func (e *Event) outage() (kind outage, ok bool) {
	switch {
	case e.Outcome == Ran && e.Unprotected && !e.Cancelled:
		return outage{outcome: Ran}, true
	case e.Outcome != Deferred || e.Unrecorded || errors.Is(e.Err, ErrExhausted):
		return outage{}, false
	case errors.Is(e.Err, errTooLate):
		return outage{outcome: Deferred, class: store.Unknown}, true
	}
	failed, ok := errors.AsType[*store.Error](e.Err)
	if !ok {
		return outage{}, false
	}
	return outage{outcome: Deferred, class: failed.Class}, true
}

// logHolding tells that messages are held because of err, or no more.
func (g *Guard) logHolding(ctx context.Context, err error) {
	kind := outage{held: true}
	if err == nil {
		kind.outcome = Ran
	}
	suppressed, ok := g.repeats.show(kind, g.now())
	if !ok {
		return
	}
	g.log(ctx, slog.LevelWarn, func() (string, []slog.Attr) {
		attrs := []slog.Attr{slog.Int("suppressed", suppressed)}
		if err == nil {
			return "dedup: no message is held any more", attrs
		}
		return "dedup: the store does not answer: messages are held", append(attrs, slog.Any("error", err))
	})
}

// logSometimes logs a line of kind unless one was logged a moment ago.
func (g *Guard) logSometimes(
	ctx context.Context, level slog.Level, kind outage, line func() (string, []slog.Attr),
) {
	suppressed, ok := g.repeats.show(kind, g.now())
	if !ok {
		return
	}
	g.log(ctx, level, func() (string, []slog.Attr) {
		text, attrs := line()
		if suppressed > 0 {
			attrs = append(attrs, slog.Int("suppressed", suppressed))
		}
		return text, attrs
	})
}

// repeats limits the lines about outages. The zero repeats has logged nothing.
type repeats struct {
	mu    sync.Mutex
	kinds map[outage]*repeat // guarded by mu
}

type repeat struct {
	shown      time.Duration
	suppressed int // since then
}

// show reports whether a line of kind is to be logged now, and how many were not
// since the last one.
func (r *repeats) show(kind outage, now time.Duration) (suppressed int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kind]
	switch {
	case k == nil:
		if r.kinds == nil {
			r.kinds = map[outage]*repeat{}
		}
		r.kinds[kind] = &repeat{shown: now}
		return 0, true
	case now-k.shown < repeatEvery:
		k.suppressed++
		return 0, false
	}
	suppressed = k.suppressed
	k.shown, k.suppressed = now, 0
	return suppressed, true
}
