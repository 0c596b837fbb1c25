package listener_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// brief holds messages for a second.
func brief() dedup.Policy { return dedup.Policy{HoldLimit: time.Second} }

// losing loses l when a callback of its rig has run.
func (r *rig) losing(l *losable, failing ...string) listener.Handler {
	h := r.handler(failing...)
	return func(ctx context.Context, m *primitive.MessageExt) error {
		err := h(ctx, m)
		l.lost.Store(true)
		return err
	}
}

func TestASuccessThatTheStoreDoesNotTakeIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := newLosable(t, listener.Options{BatchSize: 8, Policy: brief()})
		cb := r.Each(r.losing(l))
		want(t, cb, success, 0, orders("1", "2")...)
		want(t, cb, success, 0, orders("2", "1")...) // known without the store
		r.wantRan(t, "1", "2")
		l.lost.Store(false)
		time.Sleep(time.Second)
		if got := r.Stats(); got != (dedup.Stats{}) {
			t.Errorf("gauges: got %+v, want all recorded", got)
		}
	})
}

func TestAnUnrecordedSuccessComesBackAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := newLosable(t, listener.Options{BatchSize: 8, Policy: brief()})
		cb := r.Each(r.losing(l, "bad"))
		want(t, cb, retry, 4, orders("good", "bad")...) // 30 s; a failure alone asks for nothing
		l.lost.Store(false)
		time.Sleep(30 * time.Second)
		want(t, cb, retry, 0, orders("good", "bad")...)
		r.wantRan(t, "good", "bad", "bad")
		time.Sleep(time.Second)
	})
}

func TestWithAVerifierAnUnrecordedSuccessIsDelayedByItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := brief()
		p.Verifier = func(context.Context, store.Key) (dedup.Finding, error) { return dedup.Unknown, nil }
		r, l := newLosable(t, listener.Options{Policy: p})
		cb := r.Each(r.losing(l))
		want(t, cb, retry, 4, orders("1")...)
		l.lost.Store(false)
		time.Sleep(30 * time.Second)
		want(t, cb, success, 0, orders("1")...)
		r.wantRan(t, "1")
	})
}

func TestADrainRecordsWhatItCanAndReportsTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		outage time.Duration
		atMost time.Duration
		left   string
	}{
		"the store comes back": {10 * time.Second, 12 * time.Second, ""},
		"it does not":          {time.Hour, 31 * time.Second, "2 successes could not be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, l := newLosable(t, listener.Options{BatchSize: 8})
				cb := r.Each(func(context.Context, *primitive.MessageExt) error { l.lost.Store(true); return nil })
				var answered sync.WaitGroup
				answered.Go(func() { want(t, cb, success, 0, orders("1", "2")...) })
				time.Sleep(5 * time.Second)
				began := time.Now()
				time.AfterFunc(c.outage, func() { l.lost.Store(false) })
				stop := stopFunc(func() {
					if took := time.Since(began); took > time.Second {
						t.Errorf("the consumer stopped after %v: it has nothing to wait for", took)
					}
				})
				err := shutdownAfter(r, 30*time.Second, stop)
				if c.left == "" && err != nil || c.left != "" && (err == nil || !strings.Contains(err.Error(), c.left)) {
					t.Errorf("got %v, want %q", err, c.left)
				}
				if took := time.Since(began); took > c.atMost || errors.Is(err, listener.ErrDraining) {
					t.Errorf("took %v, %v; want the limit at most, and no callback left", took, err)
				}
				answered.Wait()
			})
		})
	}
}
