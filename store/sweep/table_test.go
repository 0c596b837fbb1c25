package sweep_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// table is a store with a backlog of expired records, of which a step removes a
// batch in the given time.
type table struct {
	takes time.Duration

	mu      sync.Mutex // guards all below
	backlog int
	err     error
	steps   []time.Time // when each began
	limits  []int
}

func (b *table) Sweep(ctx context.Context, limit int) (int, error) {
	b.mu.Lock()
	b.steps, b.limits = append(b.steps, time.Now()), append(b.limits, limit)
	b.mu.Unlock()
	if b.takes > 0 {
		select {
		case <-time.After(b.takes):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	n := min(limit, b.backlog)
	b.backlog -= n
	return n, nil
}

func (b *table) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *table) grow(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backlog += n
}

// rests are the times between the beginnings of steps.
func (b *table) rests() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rests []time.Duration
	for i := 1; i < len(b.steps); i++ {
		rests = append(rests, b.steps[i].Sub(b.steps[i-1]))
	}
	return rests
}

func (b *table) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.steps)
}

func newLoop(t *testing.T, b *table, o sweep.Options) *sweep.Loop {
	t.Helper()
	l, err := sweep.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bubble runs test beside the loop, under fake time, and wants the loop to end
// at the very moment that its context does.
func bubble(t *testing.T, b *table, o sweep.Options, test func(t *testing.T, l *sweep.Loop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, b, o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		test(t, l)
		cancel()
		at := time.Now()
		if err := <-ended; err != nil || !time.Now().Equal(at) {
			t.Errorf("Run returned %v %v after its context had ended, want nil at once", err, time.Since(at))
		}
	})
}
