package dedup

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Loss is what [Guard.Watch] has found out about a part of the store: that its
// records are lost, or may be. It is an error, so that [Guard.Healthy] can
// return it.
type Loss struct {
	Part   string // of the store, see [store.Beat]
	Server string // that has it now

	Missing  int64         // pulses that it does not remember; one is sent each second, in an outage ten
	Replaced bool          // another process than before answers
	Evicted  int64         // what it has dropped for want of memory since the pulse before
	Jump     time.Duration // by which its clock was set; below zero: back
}

// Certain reports whether records that this process had seen written are gone.
// Otherwise those of the last second before the loss may be, or those that were
// evicted were not the consumers', or a clock that was set has ended some early.
func (l Loss) Certain() bool { return l.Missing > 0 }

// harmless reports whether no record can be lost: a clock that is set back keeps
// records for longer.
func (l Loss) harmless() bool { return l.Missing == 0 && !l.Replaced && l.Evicted == 0 && l.Jump < 0 }

// Error says what happened, and what it means for records.
func (l Loss) Error() string {
	var found []string
	note := func(when bool, format string, args ...any) {
		if when {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	note(l.Missing > 0, "it does not remember the last %d pulses", l.Missing)
	note(l.Replaced, "another process than before answers")
	note(l.Evicted > 0, "it has dropped %d keys for want of memory", l.Evicted)
	note(l.Jump != 0, "its clock was set by %v", l.Jump.Round(time.Millisecond))
	means := "records may be lost"
	switch {
	case l.Certain():
		means = "records are lost"
	case l.harmless():
		means = "records last longer than they should"
	}
	return "dedup: " + means + ": " + strings.Join(found, ", ")
}

// LossObserver is an [Observer] that is told of losses, too.
type LossObserver interface {
	Observer
	// ObserveLoss is called once for each part of the store that a loss has
	// struck, under the rules of Observe.
	ObserveLoss(ctx context.Context, l Loss)
}

// ObserveLoss tells those of l that are a LossObserver.
func (l observers) ObserveLoss(ctx context.Context, loss Loss) {
	for _, o := range l {
		if o, ok := o.(LossObserver); ok {
			o.ObserveLoss(ctx, loss)
		}
	}
}

// unhealthyFor is how long Healthy tells of a loss.
const unhealthyFor = time.Minute

// losses are what a guard knows of them.
type losses struct {
	latest atomic.Pointer[seenLoss]
	doubt  atomic.Pointer[time.Duration] // since when records are in doubt; nil: they are not
}

type seenLoss struct {
	Loss
	at time.Duration
}

// Healthy returns nil, or the [Loss] that [Guard.Watch] saw within the last
// minute. It says nothing about a store that does not answer.
func (g *Guard) Healthy() error {
	if l := g.losses.latest.Load(); l != nil && g.now()-l.at < unhealthyFor {
		return l.Loss
	}
	return nil
}

// doubt notes that records which were written before at may be lost.
func (g *Guard) doubt(ctx context.Context, at time.Duration) {
	since := g.losses.doubt.Load()
	if since == nil {
		g.log(ctx, slog.LevelInfo, func() (string, []slog.Attr) {
			return "dedup: Verifiers are asked about first attempts, because records may have been lost",
				[]slog.Attr{slog.Duration("ago", g.now()-at)}
		})
	}
	if since == nil || *since < at {
		g.losses.doubt.Store(&at)
	}
}

// doubted reports whether a first attempt under p may be a later one, because
// the record of the key may be lost: until the latest record of before the loss
// would have ended.
func (g *Guard) doubted(p *Policy) bool {
	since := g.losses.doubt.Load()
	return since != nil && g.now()-*since < max(p.Keep, p.Lease+p.Horizon)
}

// alarm notes a loss, and tells the observer and the log.
func (g *Guard) alarm(ctx context.Context, l Loss) {
	g.losses.latest.Store(&seenLoss{l, g.now()})
	if o, ok := g.options.Observer.(LossObserver); ok {
		g.tell(ctx, func() { o.ObserveLoss(ctx, l) })
	}
	level := slog.LevelWarn
	if l.Certain() {
		level = slog.LevelError
	}
	if l.Certain() || l.Replaced {
		g.log(ctx, level, l.line)
		return
	}
	g.logSometimes(ctx, level, outage{}, l.line) // evictions may go on and on
}

func (l Loss) line() (string, []slog.Attr) {
	attrs := []slog.Attr{slog.String("server", l.Server)}
	if l.Part != "" {
		attrs = append(attrs, slog.String("part", l.Part))
	}
	return l.Error(), attrs
}

// ill is the line about a pulse that was not answered.
func ill(err error) func() (string, []slog.Attr) {
	return func() (string, []slog.Attr) {
		return "dedup: the store cannot be watched now", []slog.Attr{
			slog.Any("error", err), slog.String("class", store.ClassOf(err).String()),
		}
	}
}
