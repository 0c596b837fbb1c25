package main

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// tally counts outcomes, and the runs whose end is not recorded yet.
type tally struct {
	began time.Time // when the consumer had started

	mu       sync.Mutex // guards what follows
	outcomes map[dedup.Outcome]int
	running  int
	ended    chan struct{} // closed, and made anew, with every end
}

func newTally() *tally {
	return &tally{outcomes: map[dedup.Outcome]int{}, ended: make(chan struct{})}
}

// handler counts the runs of h.
func (t *tally) handler(h listener.Handler) listener.Handler {
	return func(ctx context.Context, m *primitive.MessageExt) error {
		t.mu.Lock()
		t.running++
		t.mu.Unlock()
		return h(ctx, m)
	}
}

// Observe is told of every delivery after it was recorded.
func (t *tally) Observe(_ context.Context, e dedup.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes[e.Outcome]++
	if e.Outcome == dedup.Ran || e.Outcome == dedup.Failed {
		t.running--
		close(t.ended)
		t.ended = make(chan struct{})
	}
}

// wait returns when every run is recorded, or when ctx ends.
func (t *tally) wait(ctx context.Context) {
	for {
		t.mu.Lock()
		running, ended := t.running, t.ended
		t.mu.Unlock()
		if running <= 0 {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// summary is what the consumer did, as attributes of a log line.
func (t *tally) summary() (attrs []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range []dedup.Outcome{dedup.Ran, dedup.Skipped, dedup.Deferred, dedup.Failed} {
		attrs = append(attrs, o.String(), t.outcomes[o])
	}
	return append(attrs, "seconds", math.Round(time.Since(t.began).Seconds()*1000)/1000)
}
