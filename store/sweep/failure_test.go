package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

func TestFailuresAreRepeatedMoreAndMoreSeldomAndDoNotEndTheLoop(t *testing.T) {
	down := errors.New("connection refused")
	b := &table{backlog: 3, err: down}
	var log bytes.Buffer
	o := sweep.Options{Every: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	bubble(t, b, o, func(t *testing.T, l *sweep.Loop) {
		time.Sleep(5 * time.Minute)
		for i, got := range b.rests() {
			want := min(time.Second<<min(i, 10), 10*time.Second)
			if got < want/2 || got >= want+want/2 {
				t.Errorf("repeat %d came after %v, want about %v", i+1, got, want)
			}
		}
		if got := l.Stats(); got.Failures != b.asked() || got.Failures < 10 || !errors.Is(got.Err, down) || got.Passes != 0 {
			t.Errorf("got %+v, want a failure for each of %d steps", got, b.asked())
		}
		b.fail(nil)
		time.Sleep(time.Minute)
		if got := l.Stats(); got.Failures != 0 || got.Err != nil || got.Removed != 3 || got.Passes == 0 {
			t.Errorf("got %+v after the outage, want the backlog removed", got)
		}
	})
	wantLines(t, log.String(), "level=WARN msg=\"sweep: expired records are not removed", "removed again\" failures=")
}

func TestAnErrorIsLoggedOnceUntilItChanges(t *testing.T) {
	b := &table{err: errors.New("first")}
	var log bytes.Buffer
	o := sweep.Options{Every: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	bubble(t, b, o, func(t *testing.T, _ *sweep.Loop) {
		time.Sleep(time.Minute)
		b.fail(&store.Error{Driver: "mysqlstore", Op: "sweep", Class: store.Permanent, Err: errors.New("access denied")})
		time.Sleep(time.Minute)
		b.fail(errors.New("first"))
		time.Sleep(time.Minute)
	})
	wantLines(t, log.String(), "level=WARN", "level=ERROR", "level=WARN")
	if want := "access denied"; !strings.Contains(log.String(), want) {
		t.Errorf("got %s, want it to tell %q", log.String(), want)
	}
}

func TestAStepThatTakesTooLongIsAFailureAndRestsForItsShare(t *testing.T) {
	b := &table{takes: time.Hour, backlog: 1}
	o := sweep.Options{Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	bubble(t, b, o, func(t *testing.T, l *sweep.Loop) {
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := l.Stats(); !errors.Is(got.Err, context.DeadlineExceeded) || got.Failures != 1 {
			t.Errorf("got %+v, want a missed deadline", got)
		}
		time.Sleep(180*time.Second + time.Millisecond)
		if got := b.rests(); len(got) != 1 || got[0].Round(time.Millisecond) != 200*time.Second {
			t.Errorf("steps of 20 s began %v apart, want 200 s with a share of a tenth", got)
		}
	})
}

// wantLines wants the log to have these lines and no others.
func wantLines(t *testing.T, log string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i, line := range lines {
		if len(lines) != len(want) || !strings.Contains(line, want[i]) {
			t.Errorf("got the log\n%swant lines with %q", log, want)
			return
		}
	}
}
