package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

func TestSeveralReconcilersActOnceOnEachRecord(t *testing.T) {
	for name, verifying := range map[string]time.Duration{"at once": 0, "with slow Verifiers": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.verify = func(_ context.Context, k store.Key) (reconcile.Finding, error) {
					time.Sleep(verifying)
					if k.ID[len(k.ID)-1]%2 == 0 {
						return reconcile.Happened, nil
					}
					return reconcile.NotHappened, nil
				}
				all := ids(500)
				for _, id := range all {
					abandon(t, s, id)
				}
				time.Sleep(lease + reconcile.DefaultOverdue)
				var fleet sync.WaitGroup
				for range 6 {
					r := reconciler(t, s, w, reconcile.Options{Batch: 500})
					fleet.Go(func() {
						if _, err := r.Pass(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				fleet.Wait()
				for _, id := range all {
					happened := id[len(id)-1]%2 == 0
					asked, retried := w.count(id)
					if asked != 1 || retried == 1 == happened {
						t.Errorf("%s: asked about %d times and retried %d times, want one end", id, asked, retried)
					}
					if got := record(t, s, id).Status; got == store.StatusConsumed != happened {
						t.Errorf("%s is %v", id, got)
					}
				}
			})
		})
	}
}

// hasty lets something happen between a scan and what is made of it.
type hasty struct {
	*memstore.Store
	scanned func()
}

func (h *hasty) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := h.Store.Scan(ctx, q)
	h.scanned()
	return page, err
}

func TestARecordIsLeftToWhoeverWasAtItSinceTheScan(t *testing.T) {
	ctx := context.Background()
	token := store.NewToken()
	for name, meanwhile := range map[string]func(t *testing.T, s *memstore.Store){
		"a consumer that runs": func(t *testing.T, s *memstore.Store) { take(t, s, "A1", token) },
		"a consumer that failed": func(t *testing.T, s *memstore.Store) {
			take(t, s, "A1", token)
			if err := s.Release(ctx, keyOf("A1"), token, true); err != nil {
				t.Error(err)
			}
		},
		"a consumer that succeeded": func(t *testing.T, s *memstore.Store) {
			take(t, s, "A1", token)
			if _, err := s.Complete(ctx, keyOf("A1"), token, time.Hour); err != nil {
				t.Error(err)
			}
		},
		"a consumer that parked it": func(t *testing.T, s *memstore.Store) {
			take(t, s, "A1", token)
			if err := s.Park(ctx, keyOf("A1"), token, time.Hour); err != nil {
				t.Error(err)
			}
		},
		"its expiry":  func(*testing.T, *memstore.Store) { time.Sleep(horizon) },
		"an operator": func(t *testing.T, s *memstore.Store) { _ = s.Forget(ctx, keyOf("A1")) },
		"a reconciler": func(t *testing.T, s *memstore.Store) {
			first := newWorld()
			first.answer("A1", reconcile.NotHappened)
			passed(t, reconciler(t, s, first, reconcile.Options{}))
			if _, retried := first.count("A1"); retried != 1 {
				t.Errorf("the first reconciler retried %d times, want once", retried)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.answer("A1", reconcile.NotHappened)
				once := sync.OnceFunc(func() { meanwhile(t, s) })
				r := reconciler(t, &hasty{s, once}, w, reconcile.Options{})
				abandon(t, s, "A1")
				time.Sleep(lease + time.Hour)
				want := reconcile.Stats{Passes: 1, Found: 1, Skipped: 1}
				if got := passed(t, r); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				if asked, retried := w.count("A1"); asked != 0 || retried != 0 {
					t.Errorf("asked about %d times and retried %d times, want it left alone", asked, retried)
				}
				if got := record(t, s, "A1"); got.Status == store.StatusConsuming && got.Token != token {
					t.Errorf("got %+v, want the reconciler's claim given back", got)
				}
			})
		})
	}
}

func TestAVerifierThatOutlivesItsLeaseLeavesTheKeyToWhoeverTookIt(t *testing.T) {
	for name, c := range map[string]struct {
		finding reconcile.Finding
		want    reconcile.Stats
		status  store.Status
	}{
		"happened":     {reconcile.Happened, reconcile.Stats{Completed: 1}, store.StatusConsumed},
		"not happened": {reconcile.NotHappened, reconcile.Stats{Skipped: 1}, store.StatusConsuming},
		"unknown":      {reconcile.Unknown, reconcile.Stats{Unknown: 1}, store.StatusConsuming},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.verify = func(context.Context, store.Key) (reconcile.Finding, error) {
					time.Sleep(reconcile.DefaultLease)
					take(t, s, "A1", store.NewToken())
					return c.finding, nil
				}
				r := reconciler(t, s, w, reconcile.Options{})
				abandon(t, s, "A1")
				time.Sleep(time.Hour)
				c.want.Passes, c.want.Found = 1, 1
				if got := passed(t, r); got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if got := record(t, s, "A1"); got.Status != c.status || len(w.retried) != 0 {
					t.Errorf("got %+v and %d retries, want %v and none", got, len(w.retried), c.status)
				}
			})
		})
	}
}
