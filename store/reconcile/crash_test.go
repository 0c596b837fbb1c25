package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// mortal is a store that dies with the process that uses it: at one of its calls,
// or of those of the user's functions, before it or after it has done what it does.
type mortal struct {
	reconcile.Store
	left  int // calls until then
	after bool
	dead  bool
}

// at makes a call, and ends the goroutine of the caller if its time has come.
func (m *mortal) at(call func()) {
	m.left--
	m.dead = m.left == 0
	if m.dead && !m.after {
		runtime.Goexit()
	}
	call()
	if m.dead {
		runtime.Goexit()
	}
}

func (m *mortal) Scan(ctx context.Context, q store.Query) (p store.Page, err error) {
	m.at(func() { p, err = m.Store.Scan(ctx, q) })
	return p, err
}

func (m *mortal) Claim(ctx context.Context, r store.ClaimRequest) (v store.Verdict, err error) {
	m.at(func() { v, err = m.Store.Claim(ctx, r) })
	return v, err
}

func (m *mortal) Get(ctx context.Context, k store.Key) (r store.Record, err error) {
	m.at(func() { r, err = m.Store.Get(ctx, k) })
	return r, err
}

func (m *mortal) Fence(ctx context.Context, k store.Key, t store.Token) (n int64, err error) {
	m.at(func() { n, err = m.Store.Fence(ctx, k, t) })
	return n, err
}

func (m *mortal) Release(ctx context.Context, k store.Key, t store.Token, ran bool) (err error) {
	m.at(func() { err = m.Store.Release(ctx, k, t, ran) })
	return err
}

func (m *mortal) Complete(
	ctx context.Context, k store.Key, t store.Token, keep time.Duration,
) (c store.Completion, err error) {
	m.at(func() { c, err = m.Store.Complete(ctx, k, t, keep) })
	return c, err
}

// passAndDie makes a pass that is killed at one of its calls, and reports whether
// it has so many.
func (b *business) passAndDie(t *testing.T, calls int, after bool) bool {
	t.Helper()
	m := &mortal{Store: b.store, left: calls, after: after}
	w := newWorld()
	w.verify = func(ctx context.Context, k store.Key) (f reconcile.Finding, err error) {
		m.at(func() { f, err = b.Verify(ctx, k) })
		return f, err
	}
	w.retry = func(ctx context.Context, k store.Key) (err error) {
		m.at(func() { err = b.Retry(ctx, k) })
		return err
	}
	r := reconciler(t, m, w, reconcile.Options{})
	var process sync.WaitGroup
	process.Go(func() {
		if _, err := r.Pass(t.Context()); err != nil {
			t.Error(err)
		}
	})
	process.Wait()
	return m.dead
}

// redeliver consumes what is published, by consumers that are lucky.
func (b *business) redeliver(t *testing.T) {
	t.Helper()
	for _, k := range b.queue {
		token := store.NewToken()
		v := take(t, b.store, k.ID, token)
		switch v.State {
		case store.Done:
			continue
		case store.Claimed:
			b.do(k.ID)
		default:
			t.Errorf("%s: got %+v, want a message of what can be claimed", k.ID, v)
		}
		if _, err := b.store.Complete(t.Context(), k, token, time.Hour); err != nil {
			t.Error(err)
		}
	}
	b.queue = nil
}

func TestAReconcilerThatDiesAnywhereLeavesNothingThatTheNextDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		calls := 1
		for more := true; more; calls++ {
			t.Run(fmt.Sprintf("call %d, after it: %t", calls, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &business{store: memory(t), effects: map[string]int{}}
					for _, id := range ids(2) {
						abandon(t, b.store, id)
					}
					b.do(ids(2)[0])
					time.Sleep(lease + reconcile.DefaultOverdue)
					more = b.passAndDie(t, calls, after)
					b.redeliver(t)
					time.Sleep(reconcile.DefaultLease + reconcile.DefaultOverdue)
					b.passAndDie(t, -1, false) // it lives
					b.redeliver(t)
					b.judge(t, 2)
				})
			})
		}
		if calls < 10 {
			t.Errorf("a pass has %d calls, want those for two records", calls)
		}
	}
}

// Verifiers that take longer than a lease, and consumers that take over meanwhile.
func TestReconcilersAndConsumersThatMeetAtAKeyActOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &business{store: memory(t), effects: map[string]int{}}
				dice := rand.New(rand.NewPCG(seed, 0))
				slowly := func(ctx context.Context, k store.Key) (reconcile.Finding, error) {
					b.mu.Lock()
					late := time.Duration(dice.Int64N(int64(2 * reconcile.DefaultLease)))
					b.mu.Unlock()
					found, err := b.Verify(ctx, k)
					time.Sleep(late) // whatever ctx says, and what it has found grows old
					return found, err
				}
				ctx, leave := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for range 2 {
					w := newWorld()
					w.verify, w.retry = slowly, b.Retry
					r := reconciler(t, b.store, w, reconcile.Options{Overdue: time.Minute, Every: time.Minute, RetryAgain: 100})
					all.Go(func() {
						if err := r.Run(ctx); err != nil {
							t.Error(err)
						}
					})
				}
				for i, id := range ids(3) {
					all.Go(func() { b.takeOver(t, id, rand.New(rand.NewPCG(seed, 1+uint64(i))), slowly) })
				}
				time.Sleep(6 * time.Hour)
				leave()
				all.Wait()
				b.redeliver(t)
				b.judge(t, 3)
			})
		})
	}
}

// takeOver has consumers take a key in turn: some die, at last one lives that asks
// the Verifier, or leaves the key to reconcilers.
func (b *business) takeOver(t *testing.T, id string, dice *rand.Rand, verify reconcile.Verifier) {
	for range 1 + dice.IntN(4) {
		if v := take(t, b.store, id, store.NewToken()); v.State == store.Claimed && v.Attempt == 1 && dice.IntN(2) == 0 {
			b.do(id)
		}
		time.Sleep(lease + time.Duration(dice.Int64N(int64(5*time.Minute))))
	}
	token := store.NewToken()
	v, err := b.store.Claim(t.Context(), store.ClaimRequest{
		Key: keyOf(id), Token: token, Lease: time.Hour, Horizon: horizon, // as if it were renewed
	})
	if err != nil || v.State != store.Claimed {
		return
	}
	if found, _ := verify(t.Context(), keyOf(id)); found == reconcile.NotHappened {
		b.do(id)
	}
	if _, err := b.store.Complete(t.Context(), keyOf(id), token, time.Hour*24); err != nil {
		t.Error(err)
	}
}
