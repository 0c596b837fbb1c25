package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// business has the effects, and consumers that die on the way to them.
type business struct {
	store reconcile.Store

	mu      sync.Mutex // guards all below
	effects map[string]int
	hidden  map[string]bool // nobody can tell yet
	errs    []error
}

func (b *business) Verify(_ context.Context, k store.Key) (reconcile.Finding, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.hidden[k.ID]:
		return reconcile.Unknown, nil
	case b.effects[k.ID] > 0:
		return reconcile.Happened, nil
	}
	return reconcile.NotHappened, nil
}

// Retry delivers the message to a consumer that lives.
func (b *business) Retry(ctx context.Context, k store.Key) error {
	token := store.NewToken()
	v, err := b.store.Claim(ctx, store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: time.Hour})
	if err == nil && v.State == store.Claimed {
		b.do(k.ID)
		_, err = b.store.Complete(ctx, k, token, time.Hour)
	}
	if err != nil || v.State != store.Claimed || v.Attempt != 2 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errs = append(b.errs, fmt.Errorf("%s: a retried consumer got %+v, %w", k.ID, v, err))
	}
	return err
}

func (b *business) do(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effects[id]++
}

// die consumes n messages, in processes that are killed with the claim in hand:
// a third after the effect, a third before it, and of the last nobody can tell.
func (b *business) die(t *testing.T, n int, lease time.Duration) {
	t.Helper()
	var consumers sync.WaitGroup
	for i, id := range ids(n) {
		if i%3 == 2 {
			b.hidden[id] = true
		}
		consumers.Go(func() {
			v, err := b.store.Claim(t.Context(), store.ClaimRequest{
				Key: keyOf(id), Token: store.NewToken(), Lease: lease, Horizon: time.Hour,
			})
			if err != nil || v.State != store.Claimed {
				t.Errorf("%s: got %+v, %v, want it claimed", id, v, err)
			}
			if i%3 == 0 || i%6 == 2 {
				b.do(id)
			}
		})
	}
	consumers.Wait()
}

// killed lets 300 consumers die and reconcilers bring their keys to an end,
// which takes no more than three scans.
func killed(t *testing.T, s reconcile.Store) {
	const lease, overdue, count = 20 * time.Millisecond, 100 * time.Millisecond, 300
	b := &business{store: s, effects: map[string]int{}, hidden: map[string]bool{}}
	b.die(t, count, lease)
	round := func() (all reconcile.Stats) {
		time.Sleep(lease + overdue) // what the records' times are about
		return b.round(t, reconcile.Options{
			Verifier: b.Verify, Retry: b.Retry, Overdue: overdue, Batch: 32, Keep: time.Hour, Timeout: 20 * time.Second,
		})
	}
	first := round()
	if first.Completed != count/3 || first.Retried != count/3 || first.Unknown < count/3 {
		t.Errorf("the first scan: got %+v, want a third each completed, retried and unknown", first)
	}
	if second := round(); second.Completed+second.Retried != 0 || second.Unknown < count/3 {
		t.Errorf("the second scan: got %+v, want a third unknown still", second)
	}
	clear(b.hidden)
	if third := round(); third.Completed != count/6 || third.Retried != count/6 || third.Unknown != 0 {
		t.Errorf("the third scan: got %+v, want a sixth each completed and retried", third)
	}
	b.judge(t, count)
}

// round makes a pass of each of two new reconcilers at once.
func (b *business) round(t *testing.T, o reconcile.Options) (all reconcile.Stats) {
	t.Helper()
	var fleet sync.WaitGroup
	var mu sync.Mutex
	for range 2 {
		w := newWorld()
		w.verify, w.retry = o.Verifier, o.Retry
		r := reconciler(t, b.store, w, o)
		fleet.Go(func() {
			got, err := r.Pass(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all.Completed += got.Completed
			all.Retried += got.Retried
			all.Unknown += got.Unknown
		})
	}
	fleet.Wait()
	return all
}

// judge wants n keys done, once each, and nothing else.
func (b *business) judge(t *testing.T, n int) {
	t.Helper()
	if err := errors.Join(b.errs...); err != nil {
		t.Error(err)
	}
	page, err := b.store.Scan(t.Context(), store.Query{Limit: store.MaxScan})
	if err != nil || len(page.Records) != n || page.Next != "" {
		t.Errorf("got %d records, %v, want %d", len(page.Records), err, n)
	}
	for _, r := range page.Records {
		if r.Status != store.StatusConsumed {
			t.Errorf("%s is left %v", r.Key.ID, r.Status)
		}
	}
	for _, id := range ids(n) {
		if got := b.effects[id]; got != 1 {
			t.Errorf("%s happened %d times, want once", id, got)
		}
	}
}
