package redisstore_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

const (
	callers   = 16               // deliveries of a load that are under way at a time
	loadLease = 20 * time.Second // much longer than a load is without its server
)

// load is a broker in small: it delivers every message again until it is
// finished.
type load struct {
	witness
	guard    *dedup.Guard
	keys     []store.Key
	runs     []atomic.Int32 // of the callback of each message
	recorded atomic.Int64   // callbacks whose end was recorded
	marks    map[int64]chan struct{}
}

// newLoad has a guard that gives nothing up: a claim that it abandoned might
// hold its key for a whole lease.
func newLoad(t *testing.T, client redis.UniversalClient, keys []store.Key) *load {
	t.Helper()
	l := &load{keys: keys, runs: make([]atomic.Int32, len(keys)), marks: map[int64]chan struct{}{}}
	l.witness = witness{Store: open(t, client), grants: map[store.Key][]grant{}, ends: map[store.Key][]end{}}
	guard, err := dedup.New(&l.witness, dedup.Options{
		ClaimTimeout: 2 * ample, SettleTimeout: 2 * ample, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.guard = guard
	return l
}

// after returns what is closed when n callbacks have been recorded. It must be
// called before the first delivery.
func (l *load) after(n int64) <-chan struct{} {
	mark := make(chan struct{})
	l.marks[n] = mark
	return mark
}

// withCopies is every message twice, the copy so little later that it often
// meets the first one.
func (l *load) withCopies() (all []int) {
	const behind = callers / 4
	for n := range len(l.keys) + behind {
		if n < len(l.keys) {
			all = append(all, n)
		}
		if n >= behind {
			all = append(all, n-behind)
		}
	}
	return all
}

// once is every message once.
func (l *load) once() (all []int) {
	for n := range l.keys {
		all = append(all, n)
	}
	return all
}

// deliver returns when every delivery is finished.
func (l *load) deliver(messages []int) {
	queue := make(chan int, len(messages))
	for _, n := range messages {
		queue <- n
	}
	var left atomic.Int64
	left.Store(int64(len(messages)))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for n := range queue {
				if !l.deliverOnce(n) {
					time.Sleep(time.Millisecond) // a broker takes its time, too
					queue <- n
				} else if left.Add(-1) == 0 {
					close(queue)
				}
			}
		})
	}
	all.Wait()
}

func (l *load) deliverOnce(n int) (finished bool) {
	d := dedup.Delivery{Key: l.keys[n], Policy: dedup.Policy{Lease: loadLease}}
	r := l.guard.Deliver(context.Background(), d, func(context.Context) error {
		l.runs[n].Add(1)
		time.Sleep(rand.N(3 * time.Millisecond)) // so that many a claim outlives its server
		return nil
	})
	if r.Outcome == dedup.Ran && !r.Unrecorded {
		if mark := l.marks[l.recorded.Add(1)]; mark != nil {
			close(mark)
		}
	}
	return r.Outcome.Finished()
}

// witness notes what the store has promised.
type witness struct {
	*redisstore.Store
	gone atomic.Bool // the server that answered so far answers nothing more

	mu     sync.Mutex // guards what follows
	grants map[store.Key][]grant
	ends   map[store.Key][]end
}

// grant is a claim that was granted. It is late when the call began after the
// server had gone.
type grant struct {
	attempt int
	late    bool
}

// end is a complete that was answered. It is late when the call began after the
// server had gone, and in doubt when it was answered only then: perhaps by the
// heir, to which the call was repeated.
type end struct {
	completion    store.Completion
	late, inDoubt bool
	at            time.Time
}

func (w *witness) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	late := w.gone.Load()
	v, err := w.Store.Claim(ctx, r)
	if err == nil && v.State == store.Claimed {
		w.mu.Lock()
		w.grants[r.Key] = append(w.grants[r.Key], grant{v.Attempt, late})
		w.mu.Unlock()
	}
	return v, err
}

func (w *witness) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	late := w.gone.Load()
	c, err := w.Store.Complete(ctx, k, t, keep)
	if err == nil {
		w.mu.Lock()
		w.ends[k] = append(w.ends[k], end{c, late, !late && w.gone.Load(), time.Now()})
		w.mu.Unlock()
	}
	return c, err
}
