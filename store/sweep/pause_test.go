package sweep_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

func TestAPausedLoopBeginsNoStepUntilItIsResumed(t *testing.T) {
	b := &table{takes: 10 * time.Millisecond, backlog: 1 << 20}
	bubble(t, b, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
		time.Sleep(5 * time.Millisecond)
		l.Pause()
		l.Pause()
		time.Sleep(time.Hour)
		if got := l.Stats(); b.asked() != 1 || got.Removed != 500 || !got.Paused {
			t.Errorf("got %d steps and %+v, want the one in progress to end and no other to begin", b.asked(), got)
		}
		l.Resume()
		l.Resume()
		synctest.Wait()
		if got := l.Stats(); b.asked() != 2 || got.Paused {
			t.Errorf("got %d steps and %+v, want the second at once", b.asked(), got)
		}
	})
}

func TestAPauseDuringARestDoesNotShortenIt(t *testing.T) {
	b := &table{takes: 10 * time.Millisecond, backlog: 1 << 20}
	bubble(t, b, sweep.Options{}, func(t *testing.T, l *sweep.Loop) {
		for range 20 {
			time.Sleep(4 * time.Millisecond)
			l.Pause()
			time.Sleep(time.Millisecond)
			l.Resume()
		}
		if got := b.asked(); got != 1 {
			t.Errorf("got %d steps within 100 ms of one of 10 ms, want 1 with a share of a tenth", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := b.asked(); got != 2 {
			t.Errorf("got %d steps after the rest, want 2", got)
		}
	})
}

func TestALoopCanBePausedBeforeItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &table{}
		l := newLoop(t, b, sweep.Options{})
		l.Pause()
		go func() { _ = l.Run(t.Context()) }() // ends with the test
		time.Sleep(time.Hour)
		if got := b.asked(); got != 0 {
			t.Errorf("got %d steps, want none", got)
		}
		l.Resume()
		synctest.Wait()
		if got := b.asked(); got != 1 {
			t.Errorf("got %d steps after Resume, want 1", got)
		}
	})
}
