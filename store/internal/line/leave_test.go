package line_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
)

// unordered returns a Line whose calls are not kept apart.
func unordered(background *line.Activity, send func(context.Context, []*request)) *line.Line[string, *request] {
	return line.New[string](limits, background, nil, send)
}

// occupied has a call on its way for took, so that the next ones gather.
func occupied(t *testing.T, l *line.Line[string, *request], took time.Duration) {
	t.Helper()
	go l.Do(context.Background(), &request{took: took})
	synctest.Wait()
}

func TestCallsThatAreNotKeptApartTravelTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		var background line.Activity
		l := unordered(&background, s.send)
		occupied(t, l, 10*time.Millisecond)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { l.Do(t.Context(), &request{key: "k", took: time.Hour}) })
		}
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		l.Do(t.Context(), &request{key: "k"})
		if took := time.Since(began); took > limits.Overdue {
			t.Errorf("a call about a record on its way took %v, want it to go beside", took)
		}
		all.Wait()
		if got := s.sent(); len(got) != 3 || len(got[1]) != 2 {
			t.Errorf("got groups %v, want both calls about k in the second", got)
		}
	})
}

func TestACallerWhoLeavesLearnsWhatBecomesOfItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		var background line.Activity
		l := unordered(&background, s.send)
		occupied(t, l, 30*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		behind, err := l.Do(ctx, &request{key: "early"})
		if behind != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before it is sent: got %v, %v, want no call behind", behind, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		began := time.Now()
		behind, err = l.Do(ctx, &request{key: "late", took: time.Second})
		if behind == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after it is sent: got %v, %v, want a call behind", behind, err)
		}
		<-behind
		if got, want := time.Since(began), time.Second+20*time.Millisecond; got != want {
			t.Errorf("what is behind was back after %v, want %v", got, want)
		}
	})
}

func TestWhoTravelsUnderWhichContext(t *testing.T) {
	t.Parallel()
	type mark struct{}
	marked := context.WithValue(context.Background(), mark{}, true)
	for name, c := range map[string]struct {
		patience []time.Duration // of those in a group, 0 for endless; one alone if there are none
		want     time.Duration   // of the context that is sent, 0 for endless
		marked   bool
	}{
		"a lone call under its caller's":              {nil, 0, true},
		"a group until the last caller has gone":      {[]time.Duration{2 * time.Second, time.Minute}, time.Minute, false},
		"a group for the grace at least":              {[]time.Duration{20 * time.Millisecond}, limits.Grace, false},
		"a group with a caller who waits without end": {[]time.Duration{time.Second, 0}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent context.Context
				var at time.Time
				l := unordered(&line.Activity{}, func(ctx context.Context, calls []*request) {
					sent, at = ctx, time.Now()
					time.Sleep(calls[0].took)
				})
				began := time.Now()
				var all sync.WaitGroup
				all.Go(func() { l.Do(marked, &request{took: 10 * time.Millisecond}) })
				synctest.Wait()
				for _, p := range c.patience {
					ctx, cancel := marked, context.CancelFunc(func() {})
					if p > 0 {
						ctx, cancel = context.WithTimeout(marked, p)
					}
					all.Go(func() {
						defer cancel()
						l.Do(ctx, &request{})
					})
				}
				all.Wait()
				if got := sent.Value(mark{}) != nil; got != c.marked {
					t.Errorf("has a caller's values: got %v, want %v", got, c.marked)
				}
				want := began.Add(c.want)
				if c.want == limits.Grace {
					want = at.Add(c.want)
				}
				switch until, ends := sent.Deadline(); {
				case ends != (c.want > 0):
					t.Errorf("ends: got %v, want %v", ends, c.want > 0)
				case ends && !until.Equal(want):
					t.Errorf("ends: got %v, want %v", until, want)
				}
			})
		})
	}
}

func TestACallThatPanicsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		l := line.New(limits, &line.Activity{}, func(r *request) string { return r.key },
			func(context.Context, []*request) {
				if broken {
					panic("broken")
				}
			})
		for range limits.MaxLate + 1 {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic did not reach its caller")
					}
				}()
				l.Do(t.Context(), &request{key: "k"})
			}()
			time.Sleep(2 * limits.Overdue)
		}
		broken = false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Do(ctx, &request{key: "k"}); err != nil {
			t.Errorf("the next call: got %v, want it to go", err)
		}
	})
}
