package listener_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// taking is a handler that needs d, unless it is cancelled.
func taking(d time.Duration) listener.Handler {
	return func(ctx context.Context, _ *primitive.MessageExt) error {
		over := time.NewTimer(d)
		defer over.Stop()
		select {
		case <-over.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestBrokerACallbackLongerThanItsLeaseRunsOnce(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		lease := on.longLease()
		s.join(listener.Options{Policy: dedup.Policy{Lease: lease}}, taking(3*lease))
		s.send("order")
		eventually(t, "the first copy runs", func() bool { return s.runs("order") == 1 })
		s.send("order")
		eventually(t, "both copies are acknowledged", func() bool { return s.count(acknowledged) >= 2 })
		s.wantRuns(t, 1, "order")
		// One lease after the claim nothing but its renewal kept the second copy away.
		if busy := s.count(because(dedup.ErrBusy)); busy < 2 {
			t.Errorf("the second copy was deferred %d times, want at the start and after a lease", busy)
		}
	})
}

// After one to two of these timeouts the client sends a copy back and forgets
// the message, although its callback is still running.
func TestBrokerACallbackLongerThanConsumeTimeoutRunsOnce(t *testing.T) {
	skipRacyClient(t, "cleanExpiredMsg")
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		timeout := s.brief(5 * time.Second)
		s.join(listener.Options{
			ConsumeTimeout: timeout, Policy: dedup.Policy{Lease: 2 * timeout, MaxConsume: time.Minute},
		}, taking(4*timeout))
		s.send("order")
		eventually(t, "the callback has returned", func() bool { return s.count(outcome(dedup.Ran)) == 1 })
		if busy := s.count(because(dedup.ErrBusy)); busy == 0 {
			t.Error("the client sent no copy back while the callback ran, so this run shows nothing")
		}
		eventually(t, "the copy is skipped", func() bool { return s.count(outcome(dedup.Skipped)) >= 1 })
		s.wantRuns(t, 1, "order")
		if cancelled := s.count(func(e dedup.Event) bool { return e.Cancelled }); cancelled > 0 {
			t.Error("the callback was cancelled")
		}
	})
}
