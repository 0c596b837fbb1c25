package listener_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// Messages come in all the time while the store is away for several times as long
// as one of them may be held. It is not parallel: it measures time, at the pace of
// the real broker.
func TestALongOutageUnderHoldLosesNothingAndCostsFewRetries(t *testing.T) {
	d := soakTime(t, "DEDUP_TEST_OUTAGE")
	for kind := range breakables {
		t.Run(kind, func(t *testing.T) { surviveOutage(t, d, kind) })
	}
}

// surviveOutage is an outage of d of a store of one of breakables.
func surviveOutage(t *testing.T, d time.Duration, kind string) {
	s := newScene(t, realBroker, 4)
	server := breakables[kind].start(t)
	breakables[kind].keep(s, server.Addr())
	o := listener.Options{
		BatchSize: 8, Policy: dedup.Policy{Outage: dedup.OutageHold, HoldLimit: min(dedup.DefaultHoldLimit, d/3)},
	}
	a, b, leaver := s.join(o, taking(5*time.Millisecond)), s.join(o, taking(5*time.Millisecond)),
		s.join(o, taking(5*time.Millisecond))
	f := s.startFlow("order", 10*time.Millisecond)
	s.work(a, b, leaver)

	server.Kill()
	down := time.Now()
	eventually(t, "messages are held", func() bool { return min(a.held(), b.held(), leaver.held()) > 0 })
	time.Sleep(d/2 - time.Since(down))                      // what is tested is an outage of that length
	drained := s.drainsIn(leaver, min(5*time.Second, d/10)) // less than what is held has still to wait
	time.Sleep(d - time.Since(down))
	held := s.inside(leaver.name)
	server.Restart()
	back := time.Now()
	eventually(t, "all that were held have their outcome", func() bool { return s.settled(held) })
	resume := time.Since(back)

	f.more(100)
	keys := f.stop()
	s.catchUp(keys, 4)
	lost, extra := s.tally(keys)
	retries, dead := s.retries(keys), s.dead()
	t.Logf("figure: outage store=%s seconds=%.0f messages=%d held=%d resume_ms=%d drain_ms=%d deferred=%d "+
		"max_retries=%d lost=%d dead=%d reruns=%d", kind, d.Seconds(), len(keys), len(held), resume.Milliseconds(),
		drained.Milliseconds(), s.count(outcome(dedup.Deferred)), retries, lost, dead, extra)
	if lost > 0 || dead > 0 || retries > 3 {
		t.Error("want nothing lost, nothing dead and at most 3 retries")
	}
	// Two seconds are proved where time does not depend on the machine.
	if len(held) == 0 || resume > d/4 {
		t.Errorf("%d held messages took %v to resume, want some, and %v at most", len(held), resume, d/4)
	}
}

// drainsIn wants m to leave within limit although the store is away, with nothing
// left that runs or is held. What ended when the store went may be unrecorded.
func (s *scene) drainsIn(m *member, limit time.Duration) (took time.Duration) {
	s.t.Helper()
	began := time.Now()
	err := m.drain(limit)
	took = time.Since(began)
	if took > 2*limit || errors.Is(err, listener.ErrDraining) {
		s.t.Errorf("the drain took %v, want about %v at most and nothing running: %v", took, limit, err)
	}
	return took
}

func (m *member) held() int { return m.Stats().Held }

// inside are the bodies that were delivered to other members than left, and how
// often, where not every delivery has its outcome yet.
func (l *ledger) inside(left string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	inside := map[string]int{}
	for body, all := range l.sightings {
		for _, one := range all {
			if one.by == left {
				inside[body] = -len(all) // it may wait at the gate for ever
			}
			inside[body]++
		}
	}
	for _, e := range l.events {
		inside[e.Key.ID]--
	}
	for body, open := range inside {
		if inside[body] = len(l.sightings[body]); open <= 0 {
			delete(inside, body)
		}
	}
	return inside
}

// settled reports whether each body has that many outcomes.
func (l *ledger) settled(deliveries map[string]int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	outcomes := map[string]int{}
	for _, e := range l.events {
		outcomes[e.Key.ID]++
	}
	for body, n := range deliveries {
		if outcomes[body] < n {
			return false
		}
	}
	return true
}

// retries is the largest number of retries that one of bodies has cost.
func (l *ledger) retries(bodies []string) (most int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, body := range bodies {
		for _, one := range l.sightings[body] {
			most = max(most, one.reconsumed)
		}
	}
	return most
}
