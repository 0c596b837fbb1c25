package reconcile_test

import (
	"context"
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
	queue   []store.Key     // messages
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

// Retry publishes the message to a consumer that lives.
func (b *business) Retry(_ context.Context, k store.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, k)
	return nil
}

// consume delivers what is published, again and again until it is done.
func (b *business) consume(t *testing.T) {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.mu.Unlock()
			return
		}
		k := b.queue[0]
		b.queue = b.queue[1:]
		b.mu.Unlock()
		if state := b.deliver(t, k); state != store.Claimed && state != store.Done {
			_ = b.Retry(t.Context(), k) // which cannot fail
		}
	}
}

func (b *business) deliver(t *testing.T, k store.Key) store.State {
	token := store.NewToken()
	v, err := b.store.Claim(t.Context(), store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: time.Hour})
	if err == nil && v.State == store.Claimed {
		if v.Attempt != 2 {
			t.Errorf("%s: got attempt %d, want 2: the reconcilers' are no runs", k.ID, v.Attempt)
		}
		b.do(k.ID)
		_, err = b.store.Complete(t.Context(), k, token, time.Hour)
	}
	if err != nil {
		t.Errorf("%s: %v", k.ID, err)
	}
	return v.State
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
// which takes no more than one scan from when the Verifier can tell.
func killed(t *testing.T, s reconcile.Store) {
	const lease, count = 20 * time.Millisecond, 300
	b := &business{store: s, effects: map[string]int{}, hidden: map[string]bool{}}
	b.die(t, count, lease)
	time.Sleep(lease) // the records' own time

	first := b.round(t)
	if first.Completed != count/3 || first.Retried < count/3 || first.Unknown < count/3 {
		t.Errorf("the first scan: got %+v, want a third each completed, retried and unknown", first)
	}
	if second := b.round(t); second.Completed+second.Retried != 0 || second.Unknown < count/3 {
		t.Errorf("the second scan: got %+v, want a third unknown still", second)
	}
	clear(b.hidden)
	if third := b.round(t); third.Completed != count/6 || third.Retried < count/6 || third.Unknown != 0 {
		t.Errorf("the third scan: got %+v, want a sixth each completed and retried", third)
	}
	b.judge(t, count)
}

// round lets what is left become overdue, makes a pass of each of two new
// reconcilers at once, and consumes what they publish.
func (b *business) round(t *testing.T) (all reconcile.Stats) {
	t.Helper()
	const overdue = time.Second
	time.Sleep(overdue) // the records' own time
	var fleet sync.WaitGroup
	var mu sync.Mutex
	for range 2 {
		w := newWorld()
		w.verify, w.retry = b.Verify, b.Retry
		r := reconciler(t, b.store, w, reconcile.Options{Overdue: overdue, Timeout: 20 * time.Second})
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
	for range 8 {
		fleet.Go(func() { b.consume(t) })
	}
	fleet.Wait()
	return all
}

// judge wants n keys done, once each, and nothing else.
func (b *business) judge(t *testing.T, n int) {
	t.Helper()
	found := 0
	for after, more := "", true; more; more = after != "" {
		page, err := b.store.Scan(t.Context(), store.Query{Limit: store.MaxScan, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if r.Status != store.StatusConsumed {
				t.Errorf("%s is left %v", r.Key.ID, r.Status)
			}
		}
		found, after = found+len(page.Records), page.Next
	}
	if found != n {
		t.Errorf("got %d records, want %d", found, n)
	}
	for _, id := range ids(n) {
		if got := b.effects[id]; got != 1 {
			t.Errorf("%s happened %d times, want once", id, got)
		}
	}
}
