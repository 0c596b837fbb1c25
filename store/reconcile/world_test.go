package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

const (
	lease   = 30 * time.Second
	horizon = 3 * time.Hour
)

// world is what the user's functions look at, and what was asked of them.
type world struct {
	mu      sync.Mutex // guards all below
	answers map[string]reconcile.Finding
	asked   map[string]int
	retried map[string]int
	verify  reconcile.Verifier                     // instead of the answers, if not nil
	retry   func(context.Context, store.Key) error // after counting, if not nil
}

func newWorld() *world {
	return &world{answers: map[string]reconcile.Finding{}, asked: map[string]int{}, retried: map[string]int{}}
}

func (w *world) Verify(ctx context.Context, k store.Key) (reconcile.Finding, error) {
	w.mu.Lock()
	w.asked[k.ID]++
	answer, verify := w.answers[k.ID], w.verify
	w.mu.Unlock()
	if verify != nil {
		return verify(ctx, k)
	}
	return answer, nil
}

func (w *world) Retry(ctx context.Context, k store.Key) error {
	w.mu.Lock()
	w.retried[k.ID]++
	retry := w.retry
	w.mu.Unlock()
	if retry != nil {
		return retry(ctx, k)
	}
	return nil
}

func (w *world) answer(id string, f reconcile.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[id] = f
}

// count returns how often a key was asked about, and retried.
func (w *world) count(id string) (asked, retried int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[id], w.retried[id]
}

func keyOf(id string) store.Key { return store.Key{Application: "billing", Topic: "orders", ID: id} }

func ids(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("A%03d", i))
	}
	return ids
}

func memory(t *testing.T) *memstore.Store {
	t.Helper()
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// abandon claims a key as a process does that dies then.
func abandon(t *testing.T, s store.Store, id string) {
	t.Helper()
	if v := take(t, s, id, store.NewToken()); v.State != store.Claimed {
		t.Fatalf("%s: got %+v, want it claimed", id, v)
	}
}

func take(t *testing.T, s store.Store, id string, token store.Token) store.Verdict {
	t.Helper()
	v, err := s.Claim(context.Background(), store.ClaimRequest{
		Key: keyOf(id), Token: token, Lease: lease, Horizon: horizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// reconciler is one with the functions of w. It logs to o.Logger only.
func reconciler(t *testing.T, s reconcile.Store, w *world, o reconcile.Options) *reconcile.Reconciler {
	t.Helper()
	o.Verifier, o.Retry = w.Verify, w.Retry
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := reconcile.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// passed makes a pass and returns its counts, the times left out.
func passed(t *testing.T, r *reconcile.Reconciler) reconcile.Stats {
	t.Helper()
	s, err := r.Pass(context.Background())
	if err != nil {
		t.Error(err)
	}
	s.LastPass, s.Oldest = time.Time{}, 0
	return s
}

func record(t *testing.T, s store.Getter, id string) store.Record {
	t.Helper()
	r, err := s.Get(context.Background(), keyOf(id))
	if err != nil {
		t.Errorf("%s: %v", id, err)
	}
	return r
}
