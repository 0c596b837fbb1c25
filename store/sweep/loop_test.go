package sweep_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

func TestNewNamesEveryOptionThatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	bad := sweep.Options{Batch: -1, Every: -1, Share: -1, Timeout: -1}
	_, err := sweep.New(nil, bad)
	for _, want := range []string{
		"the store is nil", "Options.Batch is -1, want 1 to 10000", "Options.Every is -1ns, want 1ms to 24h0m0s",
		"Options.Share is -1, want 0.001 to 1", "Options.Timeout is -1ns, want 1ms to 1h0m0s",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestNewRefusesWhatIsJustOutOfBounds(t *testing.T) {
	t.Parallel()
	for _, o := range []sweep.Options{
		{Batch: sweep.MaxBatch + 1}, {Every: time.Millisecond - 1}, {Every: sweep.MaxEvery + 1},
		{Share: sweep.MinShare / 2}, {Share: 1.01}, {Share: math.NaN()}, {Share: math.Inf(1)},
		{Timeout: time.Millisecond - 1}, {Timeout: sweep.MaxTimeout + 1},
	} {
		if l, err := sweep.New(&table{}, o); err == nil || l != nil || strings.Count(err.Error(), "Options.") != 1 {
			t.Errorf("%+v: got %v, want one complaint", o, err)
		}
	}
	for _, o := range []sweep.Options{
		{}, {Batch: 1, Every: time.Millisecond, Share: sweep.MinShare, Timeout: time.Millisecond},
		{Batch: sweep.MaxBatch, Every: sweep.MaxEvery, Share: 1, Timeout: sweep.MaxTimeout},
	} {
		if _, err := sweep.New(&table{}, o); err != nil {
			t.Errorf("%+v: got %v, want it accepted", o, err)
		}
	}
}

func TestABacklogIsRemovedInBatchesThatTakeTheirShareOfTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		options sweep.Options
		batch   int
		rest    time.Duration
	}{
		"by default":         {sweep.Options{}, 500, 200 * time.Millisecond},
		"in small batches":   {sweep.Options{Batch: 7}, 7, 200 * time.Millisecond},
		"half of the time":   {sweep.Options{Share: 0.5}, 500, 40 * time.Millisecond},
		"all of the time":    {sweep.Options{Share: 1}, 500, 20 * time.Millisecond},
		"a thousandth of it": {sweep.Options{Share: 0.001}, 500, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := &table{takes: 20 * time.Millisecond, backlog: 4*c.batch + 1}
			bubble(t, b, c.options, func(t *testing.T, l *sweep.Loop) {
				time.Sleep(4*c.rest + 19*time.Millisecond)
				if got := l.Stats().Passes; got != 0 {
					t.Errorf("got %d passes before the end of the first, want 0", got)
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				for i, got := range b.rests() {
					if off := got - c.rest; off < -time.Microsecond || off > time.Microsecond {
						t.Errorf("step %d began %v after the one before, want %v", i+2, got, c.rest)
					}
				}
				for i, got := range b.limits {
					if got != c.batch {
						t.Errorf("step %d was to remove %d, want %d", i+1, got, c.batch)
					}
				}
				if got := l.Stats(); got.Removed != int64(4*c.batch+1) || got.Passes != 1 || got.Err != nil {
					t.Errorf("got %+v, want all %d removed in one pass", got, 4*c.batch+1)
				}
			})
		})
	}
}

func TestPausesBetweenPassesAreDrawnAroundEvery(t *testing.T) {
	b := &table{}
	bubble(t, b, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
		synctest.Wait()
		if got := l.Stats(); got.Passes != 1 || !got.LastPass.Equal(time.Now()) {
			t.Errorf("got %+v at the start, want a pass at once", got)
		}
		time.Sleep(10 * time.Hour)
		rests := b.rests()
		var sum time.Duration
		for _, rest := range rests {
			if sum += rest; rest < 30*time.Second || rest >= 90*time.Second {
				t.Errorf("got a pause of %v, want half a minute to one and a half", rest)
			}
		}
		mean := sum / time.Duration(len(rests))
		if low, high := slices.Min(rests), slices.Max(rests); low > 35*time.Second || high < 85*time.Second {
			t.Errorf("got pauses of %v to %v, want them drawn from 30s to 90s", low, high)
		}
		if mean < 55*time.Second || mean > 65*time.Second {
			t.Errorf("got pauses of %v on average, want a minute", mean)
		}
	})
}

func TestAPassBeginsAgainForWhatExpiresLater(t *testing.T) {
	b := &table{backlog: 3}
	bubble(t, b, sweep.Options{Every: time.Second}, func(t *testing.T, l *sweep.Loop) {
		synctest.Wait()
		b.grow(4)
		time.Sleep(2 * time.Second)
		if got := l.Stats(); got.Removed != 7 || got.Passes < 2 {
			t.Errorf("got %+v, want 7 removed in 2 passes or more", got)
		}
	})
}

func TestRunEndsAtOnceInTheMiddleOf(t *testing.T) {
	for name, c := range map[string]struct {
		table   *table
		options sweep.Options
		after   time.Duration
	}{
		"a step":                 {table: &table{takes: time.Hour}, after: time.Second},
		"a pause between passes": {table: &table{}, after: time.Second},
		"a rest between batches": {table: &table{takes: time.Second, backlog: 1 << 20}, after: 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.table, c.options, func(t *testing.T, _ *sweep.Loop) { time.Sleep(c.after) })
			if got := c.table.asked(); got != 1 {
				t.Errorf("got %d steps, want the end in the middle of the first or after it", got)
			}
		})
	}
	t.Run("a Pause", func(t *testing.T) {
		bubble(t, &table{}, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
			l.Pause()
			time.Sleep(time.Hour)
		})
	})
	t.Run("nothing, if its context has ended", func(t *testing.T) {
		b := &table{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newLoop(t, b, sweep.Options{}).Run(ctx); err != nil || b.asked() != 0 {
			t.Errorf("got %v and %d steps, want nil and none", err, b.asked())
		}
	})
}

func TestAStepThatIsCutShortByTheEndIsNoFailure(t *testing.T) {
	b := &table{takes: time.Hour}
	var last *sweep.Loop
	bubble(t, b, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
		last = l
		time.Sleep(time.Second)
	})
	if got := last.Stats(); got.Err != nil || got.Failures != 0 || got.Passes != 0 {
		t.Errorf("got %+v, want nothing counted", got)
	}
}

func TestALoopRunsOnceAtATime(t *testing.T) {
	b := &table{}
	var again *sweep.Loop
	bubble(t, b, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
		synctest.Wait()
		if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Errorf("a second Run: got %v, want it refused", err)
		}
		again = l
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := again.Run(ctx); err != nil {
		t.Errorf("Run after the end of the first: got %v, want nil", err)
	}
}
