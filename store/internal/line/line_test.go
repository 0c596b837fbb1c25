package line_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
)

var limits = line.Limits{MaxBusy: 2, Enough: 4, Overdue: 50 * time.Millisecond, MaxLate: 2, Grace: time.Second}

// server executes groups, each for as long as its first call says.
type server struct {
	mu     sync.Mutex
	groups [][]string
}

type request struct {
	key  string
	took time.Duration
	done bool
}

func (s *server) send(_ context.Context, calls []*request) {
	var names []string
	for _, c := range calls {
		names = append(names, c.key)
	}
	s.mu.Lock()
	s.groups = append(s.groups, names)
	s.mu.Unlock()
	time.Sleep(calls[0].took)
	for _, c := range calls {
		c.done = true
	}
}

// sent are the groups so far.
func (s *server) sent() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups)
}

func play(t *testing.T, script func(t *testing.T, s *server, do func(key string, took, patience time.Duration) error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var background line.Activity
		l := line.New(limits, &background, func(r *request) string { return r.key }, s.send)
		script(t, s, func(key string, took, patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r := &request{key: key, took: took}
			_, err := l.Do(ctx, r)
			if err == nil && !r.done {
				t.Errorf("%s: returned without being executed", key)
			}
			return err
		})
		if err := background.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestALoneCallGoesAtOnceAndThoseThatComeMeanwhileGoTogether(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		all.Go(func() { do("first", 10*time.Millisecond, time.Minute) })
		synctest.Wait()
		for _, key := range []string{"a", "b", "c"} {
			all.Go(func() { do(key, time.Millisecond, time.Minute) })
		}
		all.Wait()
		if got := s.sent(); len(got) != 2 || !slices.Equal(got[0], []string{"first"}) || len(got[1]) != 3 {
			t.Errorf("got groups %v, want the first alone and then the three others", got)
		}
	})
}

func TestEnoughCallsDoNotWaitForTheGroupBefore(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		all.Go(func() { do("first", 40*time.Millisecond, time.Minute) })
		synctest.Wait()
		began := time.Now()
		for _, key := range []string{"a", "b", "c", "d"} {
			all.Go(func() {
				do(key, time.Millisecond, time.Minute)
				if took := time.Since(began); took > 2*time.Millisecond {
					t.Errorf("%s waited %v for the first", key, took)
				}
			})
		}
		all.Wait()
	})
}

func TestWhatIsOverdueHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		all.Go(func() { do("locked", time.Hour, 2*time.Hour) })
		synctest.Wait()
		began := time.Now()
		do("a", time.Millisecond, time.Minute)
		if took := time.Since(began); took > limits.Overdue+time.Millisecond {
			t.Errorf("a call waited %v for one that is overdue after %v", took, limits.Overdue)
		}
		all.Wait()
	})
}

func TestNoCallOvertakesAnotherAboutItsRecord(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		all.Go(func() { do("other", 10*time.Millisecond, time.Minute) })
		synctest.Wait()
		if err := do("k", time.Hour, 20*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the caller's patience", err)
		}
		began := time.Now() // the call about k is still on its way, for the grace of a second
		if err := do("k", time.Millisecond, 2*time.Hour); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 50*time.Minute {
			t.Errorf("the next call about the record came after %v, beside the one before", took)
		}
		all.Wait()
	})
}

func TestACallWhoseCallerHasGoneBeforeItWasSentNeverIs(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		all.Go(func() { do("first", 30*time.Millisecond, time.Minute) })
		synctest.Wait()
		all.Go(func() {
			if err := do("gone", time.Millisecond, 10*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the caller's patience", err)
			}
		})
		all.Go(func() { do("stays", time.Millisecond, time.Minute) })
		all.Wait()
		if got, want := s.sent(), [][]string{{"first"}, {"stays"}}; !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("got groups %v, want %v", got, want)
		}
	})
}

func TestOnlySoMuchIsOnItsWayWhenNothingComesBack(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *server, do func(string, time.Duration, time.Duration) error) {
		var all sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			all.Go(func() { do(key, time.Hour, 3*time.Hour) })
			time.Sleep(2 * limits.Overdue)
		}
		synctest.Wait()
		if got := len(s.sent()); got != limits.MaxLate {
			t.Errorf("got %d groups on their way, want %d", got, limits.MaxLate)
		}
		all.Wait()
	})
}
