package listener_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// outages are the ways to lose a store, each with the way back.
var outages = map[string]func(*scene) (lose, mend func()){
	"killed": func(s *scene) (lose, mend func()) {
		server := testserver.Redis(s.t, "--appendonly", "yes", "--appendfsync", "always")
		s.keepRecordsIn(server.Addr())
		return server.Kill, server.Restart
	},
	"black hole": func(s *scene) (lose, mend func()) {
		proxy := testserver.NewProxy(s.t, s.needRedis())
		s.keepRecordsIn(proxy.Addr())
		return func() { proxy.BlackHole(true) }, proxy.Heal
	},
	"out of memory": func(s *scene) (lose, mend func()) {
		admin := s.keepRecordsIn(testserver.Redis(s.t).Addr())
		limit := func(bytes string) func() {
			return func() {
				if err := admin.ConfigSet(context.Background(), "maxmemory", bytes).Err(); err != nil {
					s.t.Error(err)
				}
			}
		}
		return limit("1"), limit("0")
	},
}

func TestBrokerAnOutageOfTheStoreLosesNothing(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		for name, outage := range outages {
			for _, policy := range []dedup.Outage{dedup.OutageHold, dedup.OutageRetry, dedup.OutageRun} {
				t.Run(name+", "+policy.String(), func(t *testing.T) {
					t.Parallel()
					s := newScene(t, on, 4)
					lose, mend := outage(s)
					o := listener.Options{Policy: dedup.Policy{Outage: policy}, MaxReconsumeTimes: 2}
					o.Guard.ClaimTimeout = s.brief(dedup.DefaultClaimTimeout)
					a, b := s.join(o, taking(50*time.Millisecond)), s.join(o, taking(50*time.Millisecond))
					f := s.startFlow("order", 20*time.Millisecond)
					f.more(50)
					lose()
					time.Sleep(s.brief(5 * time.Second)) // what is tested is an outage of that length
					eventually(t, "the outage is noticed", func() bool {
						unprotected, deferred, _ := s.outage()
						return map[dedup.Outage]int{
							dedup.OutageHold: a.held() + b.held(), dedup.OutageRetry: deferred, dedup.OutageRun: unprotected,
						}[policy] > 0
					})
					mend()
					f.more(50)
					keys := f.stop()
					s.catchUp(keys, 4)
					s.wantRuns(t, 1, keys...)
					s.wantOutage(policy)
					if n := s.dead(); n > 0 {
						t.Errorf("%d messages are in the dead-letter queue, want none", n)
					}
					skipped := s.count(outcome(dedup.Skipped))
					s.send(keys...)
					eventually(t, "copies are skipped", func() bool {
						return s.count(outcome(dedup.Skipped)) >= skipped+len(keys)
					})
					s.wantRuns(t, 1, keys...)
				})
			}
		}
	})
}

// outage counts what an outage of the store may cost a message. On a busy machine
// messages are deferred for other reasons, too.
func (l *ledger) outage() (unprotected, deferred, held int) {
	unprotected = l.count(func(e dedup.Event) bool { return e.Unprotected })
	deferred = l.count(func(e dedup.Event) bool {
		var refused *store.Error
		return e.Outcome == dedup.Deferred && errors.As(e.Err, &refused)
	})
	held = l.count(func(e dedup.Event) bool { return e.HoldTime > 0 })
	return unprotected, deferred, held
}

// wantOutage wants the members to have noticed it and to have obeyed the policy.
func (s *scene) wantOutage(policy dedup.Outage) {
	s.t.Helper()
	unprotected, deferred, held := s.outage()
	if policy == dedup.OutageHold && (unprotected > 0 || deferred > 0 || held == 0) ||
		policy == dedup.OutageRetry && (unprotected > 0 || deferred == 0) ||
		policy == dedup.OutageRun && unprotected == 0 {
		s.t.Errorf("%v: got %d unprotected, %d deferred, %d held", policy, unprotected, deferred, held)
	}
	if unrecorded := s.count(func(e dedup.Event) bool { return e.Unrecorded && !e.Unprotected }); unrecorded > 0 {
		s.t.Errorf("got %d runs that were not recorded in the end", unrecorded)
	}
}

// Claims and completes are applied and their replies lost, at random.
func TestBrokerLostRepliesOfTheStoreCostNoRun(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 4)
		proxy := testserver.NewProxy(t, s.needRedis())
		s.keepRecordsIn(proxy.Addr())
		var o listener.Options
		o.Guard.ClaimTimeout = 30 * time.Second // a reply may be lost again and again
		s.join(o, func(ctx context.Context, m *primitive.MessageExt) error {
			switch rand.IntN(8) { // about every tenth reply
			case 0:
				proxy.SwallowReplies(1)
			case 1:
				proxy.CutReplies(1)
			}
			return taking(20*time.Millisecond)(ctx, m)
		})
		f := s.startFlow("order", 5*time.Millisecond)
		f.more(300)
		keys := f.stop()
		eventually(t, "all have run", func() bool { return s.count(outcome(dedup.Ran)) == len(keys) })
		proxy.Heal()
		s.send(keys...)
		eventually(t, "every copy is acknowledged", func() bool { return s.count(acknowledged) >= 2*len(keys) })
		s.wantRuns(t, 1, keys...)
		if busy := s.count(because(dedup.ErrBusy)); busy > 0 {
			t.Errorf("%d messages met a claim of their own as if it were another's", busy)
		}
		slow := func(e dedup.Event) bool { return max(e.ClaimTime, e.SettleTime) > 500*time.Millisecond }
		if s.count(slow) == 0 {
			t.Error("no reply was lost, so this run shows nothing")
		}
	})
}
