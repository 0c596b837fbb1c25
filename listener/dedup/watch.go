package dedup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// How often the store is asked: sooner again when it did not answer, because
// everybody who waits for it claims as soon as it does.
const (
	watchEvery = time.Second
	watchAgain = 100 * time.Millisecond
)

// Watch looks every second whether the store has lost records, until ctx ends,
// and then returns nil. Run it once, beside the deliveries. It returns an error
// at once if the store is no [store.Pulser] ([errors.ErrUnsupported]) or the
// application, that of the keys, is empty.
//
// Records are lost in a failover to a replica that lagged, a restart without
// them, an eviction, a flush, and ended early by a clock that was set forward. A
// [Loss] is told to the observer, if it is a [LossObserver], and to the log;
// [Guard.Healthy] reports it for a minute. Until the records of before would
// have ended, by Keep or Lease + Horizon of a [Policy], its Verifier is asked about
// first attempts too, by whoever watches the store for this application, also
// by those who start later.
//
// A loss is seen after a second, one in an outage a tenth of a second after its
// end; what was claimed meanwhile runs. One that happens while nobody watches is
// not seen.
func (g *Guard) Watch(ctx context.Context, application string) error {
	pulser, ok := g.store.(store.Pulser)
	if !ok {
		return fmt.Errorf("dedup: watch: the store has no pulse: %w", errors.ErrUnsupported)
	}
	w := watch{g: g, pulser: pulser, pulse: store.Pulse{Application: application, Node: store.NewToken()}}
	for ctx.Err() == nil {
		err := w.look(ctx)
		wait := watchEvery
		switch {
		case errors.Is(err, store.ErrInvalid):
			return fmt.Errorf("dedup: watch: %w", err)
		case err != nil && ctx.Err() == nil:
			g.logSometimes(ctx, slog.LevelWarn, outage{class: store.ClassOf(err)}, ill(err))
			wait = watchAgain
		}
		pause(ctx, wait)
	}
	return nil
}

type watch struct {
	g      *Guard
	pulser store.Pulser
	pulse  store.Pulse
	known  vitals
}

// look sends one pulse and raises the alarm about every loss that it reveals.
func (w *watch) look(ctx context.Context) error {
	call, done := w.g.deadline(ctx)
	defer done()
	w.pulse.Number++
	sent := w.g.now()
	beats, err := w.pulser.Pulse(call, w.pulse)
	now := w.g.now()
	if err == nil {
		w.pulse.Doubt = false // all parts know
	}
	for _, b := range beats {
		if b.Doubt >= 0 {
			w.g.doubt(ctx, now-b.Doubt)
		}
	}
	for _, l := range w.known.judge(checkup{w.pulse.Number, beats, err == nil, sent, now}) {
		w.g.alarm(ctx, l)
		if !l.harmless() {
			w.g.doubt(ctx, now)
			w.pulse.Doubt = true
		}
	}
	return err
}
