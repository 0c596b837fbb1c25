package dedup_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// lossy is a store that can be lost and found again. Its calls take 5 ms.
type lossy struct {
	*memstore.Store
	away store.Store // what it is while it is lost

	mu             sync.Mutex // guards what follows
	lost           bool
	asked          int                 // calls since it was lost or found
	busy, busiest  int                 // calls at the same time, and the most of them
	claims         map[store.Token]int // by token
	claimsOfBatch  []int               // how many went together
	releasedTokens map[store.Token]bool
}

func newLossy(t *testing.T, f *storetest.Faults) (*bench, *lossy) {
	l := &lossy{claims: map[store.Token]int{}, releasedTokens: map[store.Token]bool{}}
	b := newBench(t, func(s store.Store) store.Store {
		l.Store, l.away = s.(*memstore.Store), storetest.Flaky(s, &storetest.Faults{
			Before: f.Before, After: f.After, Lagging: f.Lagging, Delay: f.Delay,
		})
		return struct { // not Instant
			store.Store
			store.Renewer
			store.Batcher
		}{l, l, l}
	})
	return b, l
}

func (l *lossy) set(lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.asked, l.busiest = lost, 0, 0
}

// goAway loses the store for d.
func (l *lossy) goAway(d time.Duration) {
	l.set(true)
	time.AfterFunc(d, func() { l.set(false) })
}

func (l *lossy) enter() (now store.Store, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	l.busy++
	l.busiest = max(l.busiest, l.busy)
	if now = l.Store; l.lost {
		now = l.away
	}
	return now, func() {
		time.Sleep(5 * time.Millisecond)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy--
	}
}

func (l *lossy) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	s, leave := l.enter()
	defer leave()
	l.mu.Lock()
	l.claims[r.Token]++
	if l.releasedTokens[r.Token] {
		panic("a released token is claimed with")
	}
	l.mu.Unlock()
	return s.Claim(ctx, r)
}

func (l *lossy) Complete(ctx context.Context, k store.Key, t store.Token, d time.Duration) (store.Completion, error) {
	s, leave := l.enter()
	defer leave()
	return s.Complete(ctx, k, t, d)
}

func (l *lossy) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	s, leave := l.enter()
	defer leave()
	l.mu.Lock()
	l.releasedTokens[t] = true
	l.mu.Unlock()
	return s.Release(ctx, k, t, ran)
}

func (l *lossy) Renew(ctx context.Context, claims []store.Claim) []error {
	s, leave := l.enter()
	defer leave()
	return s.(store.Renewer).Renew(ctx, claims)
}

func (l *lossy) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	s, leave := l.enter()
	defer leave()
	l.mu.Lock()
	l.claimsOfBatch = append(l.claimsOfBatch, len(rs))
	l.mu.Unlock()
	return s.(store.Batcher).ClaimBatch(ctx, rs)
}

func (l *lossy) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	s, leave := l.enter()
	defer leave()
	return s.(store.Batcher).SettleBatch(ctx, ss)
}
