package listener_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestBrokerAConsumerLeavesUnderLoadWithoutATrace(t *testing.T) {
	skipRacyClient(t, "Shutdown")
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 4)
		a := s.join(listener.Options{}, taking(300*time.Millisecond))
		b := s.join(listener.Options{}, taking(300*time.Millisecond))
		f := s.startFlow("joining", 10*time.Millisecond)
		s.work(a, b)
		s.catchUp(f.stop(), 4)

		f = s.startFlow("leaving", 10*time.Millisecond)
		s.work(a, b)
		s.leave(a)
		before, running := s.runsOf(a)
		if running > 0 {
			t.Errorf("%d callbacks were running when the drain had ended", running)
		}
		s.work(b)
		keys := f.stop()
		s.catchUp(keys, 4)
		if after, _ := s.runsOf(a); after != before {
			t.Errorf("%d callbacks began after the drain", after-before)
		}
		s.wantRuns(t, 1, keys...)
		traces := s.find(func(e dedup.Event) bool {
			return strings.HasPrefix(e.Key.ID, "leaving") && (e.Outcome != dedup.Ran || e.Redelivered)
		})
		if len(traces) > 0 {
			t.Errorf("%d messages were delivered again after they had run, or cost a retry: %v", len(traces), traces)
		}
	})
}

// One consumer joins, and one is stopped in the middle of its callbacks, whose
// results the client drops.
func TestBrokerARebalanceUnderLoadLosesNothingAndRunsNothingTwice(t *testing.T) {
	skipRacyClient(t, "Shutdown")
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 6)
		a := s.join(listener.Options{}, taking(50*time.Millisecond))
		b := s.join(listener.Options{}, taking(50*time.Millisecond))
		f := s.startFlow("order", 5*time.Millisecond)
		s.work(a, b)
		c := s.join(listener.Options{}, taking(50*time.Millisecond))
		s.work(a, b, c)
		if err := a.client.Shutdown(); err != nil {
			t.Error(err)
		}
		s.work(b, c)
		keys := f.stop()
		s.catchUp(keys, 6)
		s.wantRuns(t, 1, keys...)
		t.Logf("%d keys; delivered again: %d finished, %d running",
			len(keys), s.count(outcome(dedup.Skipped)), s.count(outcome(dedup.Deferred)))
	})
}
