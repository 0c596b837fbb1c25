package listener_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// losable is a store whose claims and ends fail while it is lost.
type losable struct {
	*memstore.Store
	lost atomic.Bool
}

func (l *losable) wrap(s *memstore.Store) store.Store { l.Store = s; return l }

func (l *losable) err() error {
	if l.lost.Load() {
		return &store.Error{Driver: "losable", Class: store.NotApplied, Err: errBoom}
	}
	return nil
}

func (l *losable) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if err := l.err(); err != nil {
		return store.Verdict{}, err
	}
	return l.Store.Claim(ctx, r)
}

func (l *losable) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	if err := l.err(); err != nil {
		answers := make([]store.ClaimAnswer, len(rs))
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	return l.Store.ClaimBatch(ctx, rs)
}

func (l *losable) Complete(ctx context.Context, k store.Key, t store.Token, d time.Duration) (store.Completion, error) {
	if err := l.err(); err != nil {
		return 0, err
	}
	return l.Store.Complete(ctx, k, t, d)
}

func (l *losable) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	if err := l.err(); err != nil {
		answers := make([]store.SettleAnswer, len(ss))
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	return l.Store.SettleBatch(ctx, ss)
}

func newLosable(t *testing.T, o listener.Options) (*rig, *losable) {
	l := &losable{}
	return newRigOn(t, o, l.wrap), l
}

func TestAnOutageOfTheStoreCostsNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := newLosable(t, listener.Options{BatchSize: 8})
		l.lost.Store(true)
		time.AfterFunc(90*time.Second, func() { l.lost.Store(false) })
		var answered sync.WaitGroup
		for _, ids := range [][]string{{"1"}, {"2", "3", "4"}} {
			answered.Go(func() { want(t, r.Each(r.handler()), success, 0, orders(ids...)...) })
			answered.Go(func() { want(t, r.Wrap(r.callback()), success, 0, delivered("orders", ids[0]+"+", 15)) })
		}
		time.Sleep(10 * time.Second)
		if got := r.Stats().Held; got != 6 {
			t.Errorf("held: got %d, want 6", got)
		}
		time.Sleep(82 * time.Second)
		r.wantRan(t, "1", "2", "3", "4", "1+", "2+")
		answered.Wait()
	})
}

func TestAnOutageOfFiveMinutesCostsThreeRetriesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := newLosable(t, listener.Options{BatchSize: 8})
		l.lost.Store(true)
		var back time.Time
		time.AfterFunc(5*time.Minute, func() { back = time.Now(); l.lost.Store(false) })
		var all sync.WaitGroup
		for _, ids := range [][]string{{"1"}, {"2", "3"}} {
			all.Go(func() {
				msgs := orders(ids...)
				for {
					result, level := consume(t, r.Each(r.handler()), msgs...)
					if result == success {
						break
					}
					time.Sleep(listener.DefaultDelayLevels()[level-1])
					for _, m := range msgs {
						m.ReconsumeTimes++
					}
				}
				if n := msgs[0].ReconsumeTimes; n > 3 {
					t.Errorf("%v: got %d retries, want 3 at most", ids, n)
				}
				if late := time.Since(back); late > 2*time.Minute+2*time.Second {
					t.Errorf("%v: ran %v after the store came back", ids, late)
				}
			})
		}
		all.Wait()
		r.wantRan(t, "1", "2", "3")
	})
}

func TestAMessageIsHeldSoLongThatItsCallbackHasItsTime(t *testing.T) {
	const lease, maxConsume = 30 * time.Second, 5 * time.Minute
	for name, c := range map[string]struct {
		timeout, limit, want time.Duration
	}{
		"as long as anyone":       {time.Hour, 0, 100 * time.Second},
		"as long as there is":     {maxConsume + lease + 40*time.Second, 0, 40 * time.Second},
		"as long as one wants":    {time.Hour, 3 * time.Minute, 3 * time.Minute},
		"no longer than there is": {maxConsume + lease + 40*time.Second, 3 * time.Minute, 40 * time.Second},
		"not at all":              {maxConsume + lease, 0, dedup.DefaultClaimTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := dedup.Policy{Lease: lease, MaxConsume: maxConsume, HoldLimit: c.limit}
				for what, o := range map[string]listener.Options{
					"all":   {ConsumeTimeout: c.timeout, Policy: p},
					"topic": {ConsumeTimeout: c.timeout, Topics: []listener.Topic{{Name: "orders", Policy: p}}},
				} {
					r, l := newLosable(t, o)
					l.lost.Store(true)
					began := time.Now()
					if result, _ := consume(t, r.Each(r.handler()), orders("1")...); result != retry {
						t.Errorf("%s: got %v, want retry", what, result)
					}
					if took := time.Since(began).Round(time.Second); took != c.want {
						t.Errorf("%s: held for %v, want %v", what, took, c.want)
					}
				}
			})
		})
	}
}

func TestADrainSendsHeldMessagesToTheGateAtOnce(t *testing.T) {
	for name, reconsumed := range map[string]int32{"first delivery": 0, "last delivery": 15} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, l := newLosable(t, listener.Options{BatchSize: 8})
				l.lost.Store(true)
				c := &slowStopper{}
				var answered sync.WaitGroup
				for _, ids := range [][]string{{"1"}, {"2", "3"}} {
					msgs := orders(ids...)
					for _, m := range msgs {
						m.ReconsumeTimes = reconsumed
					}
					answered.Go(func() {
						result, _ := consume(t, r.Each(r.handler()), msgs...)
						if result != retry || !c.stopped.Load() {
							t.Errorf("answered %v with the consumer stopped: %t; before that it costs a retry", result, c.stopped.Load())
						}
					})
				}
				time.Sleep(20 * time.Second)
				began := time.Now()
				if err := shutdownAfter(r, time.Minute, c); err != nil {
					t.Errorf("got %v, want a drain in time", err)
				}
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the drain took %v", took)
				}
				answered.Wait()
				r.wantRan(t)
			})
		})
	}
}

func TestAMessageOnItsLastDeliveryIsHeldUntilLastWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := newLosable(t, listener.Options{MaxReconsumeTimes: 1, LastWait: 2 * time.Minute})
		claim(t, r.store, "1")
		time.AfterFunc(10*time.Second, func() { l.lost.Store(true) })
		began := time.Now()
		if result, _ := consume(t, r.Each(r.handler()), orders("1")...); result != retry {
			t.Errorf("got %v, want retry", result)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+10*time.Second {
			t.Errorf("took %v, want LastWait and little more", took)
		}
	})
}
