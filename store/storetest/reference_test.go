package storetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// reference is a right store, written to be made wrong: a wrong store replaces
// one of its steps, which run under the mutex, each on the record of one key.
type reference struct {
	name      func(store.Key) string
	check     func(ctx context.Context, invalid error) error
	claim     func(*record, store.ClaimRequest) (store.Verdict, error)
	complete  func(*record, store.Token, time.Duration) (store.Completion, error)
	release   func(*record, store.Token, bool) error
	park      func(*record, store.Token, time.Duration) error
	renew     func(*record, store.Token) error
	fence     func(*record, store.Token) (int64, error)
	renewAll  func(claims []store.Claim, renew func(store.Claim) error) []error
	claimAll  func(requests []store.ClaimRequest, claim func(store.ClaimRequest) store.ClaimAnswer) []store.ClaimAnswer
	settleAll func([]store.Settlement, func(store.Settlement) store.SettleAnswer) []store.SettleAnswer
	pulse     func(*reference, store.Pulse) store.Beat
	show      func(*record) store.Record
	forget    func(*record) error
	scan      func(*reference, store.Query) (store.Page, error)
	sweep     func(*reference, int) int

	mu      sync.Mutex // guards what follows
	records map[string]*record
	pulses  map[string]int64
	doubts  map[string]time.Time
}

// gap is what lies between two trips to a server, under fake time.
const gap = 100 * time.Millisecond

func newReference() *reference {
	return &reference{
		name: store.Key.String, check: check, claim: claim, complete: complete, release: release,
		park: park, renew: renew, fence: fence, renewAll: each[store.Claim, error],
		claimAll: each[store.ClaimRequest, store.ClaimAnswer], settleAll: each[store.Settlement, store.SettleAnswer],
		pulse: pulse, show: show, forget: forget, scan: scan, sweep: sweep,
		records: make(map[string]*record), pulses: make(map[string]int64), doubts: make(map[string]time.Time),
	}
}

// on runs act on the record of k, which it locks.
func (s *reference) on(ctx context.Context, k store.Key, invalid error, act func(*record) error) error {
	if err := s.check(ctx, invalid); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.name(k)
	rec := s.records[name]
	if rec == nil {
		rec = new(record)
		s.records[name] = rec
	}
	if rec.expired() {
		*rec = record{}
	}
	rec.key = k.Bounded()
	return act(rec)
}

// yield lets other calls in between the two steps of a wrong one.
func (s *reference) yield() {
	s.mu.Unlock()
	time.Sleep(gap)
	s.mu.Lock()
}

func (s *reference) Claim(ctx context.Context, r store.ClaimRequest) (v store.Verdict, err error) {
	err = s.on(ctx, r.Key, r.Validate(), func(rec *record) (err error) {
		v, err = s.claim(rec, r)
		return err
	})
	return v, err
}

func (s *reference) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (c store.Completion, err error) {
	err = s.on(ctx, k, store.ValidateKept(k, t, keep), func(rec *record) (err error) {
		c, err = s.complete(rec, t, keep)
		return err
	})
	return c, err
}

func (s *reference) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	return s.on(ctx, k, store.ValidateOwned(k, t), func(rec *record) error { return s.release(rec, t, ran) })
}

func (s *reference) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	return s.on(ctx, k, store.ValidateKept(k, t, keep), func(rec *record) error { return s.park(rec, t, keep) })
}

func (s *reference) Renew(ctx context.Context, claims []store.Claim) []error {
	return s.renewAll(claims, func(c store.Claim) error {
		return s.on(ctx, c.Key, store.ValidateOwned(c.Key, c.Token), func(rec *record) error { return s.renew(rec, c.Token) })
	})
}

func (s *reference) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	return s.claimAll(requests, func(r store.ClaimRequest) (a store.ClaimAnswer) {
		a.Verdict, a.Err = s.Claim(ctx, r)
		return a
	})
}

func (s *reference) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	return s.settleAll(settlements, func(t store.Settlement) (a store.SettleAnswer) {
		if t.Keep > 0 {
			a.Completion, a.Err = s.Complete(ctx, t.Key, t.Token, t.Keep)
			return a
		}
		a.Err = s.Release(ctx, t.Key, t.Token, t.Ran)
		return a
	})
}

func (s *reference) Fence(ctx context.Context, k store.Key, t store.Token) (n int64, err error) {
	err = s.on(ctx, k, store.ValidateOwned(k, t), func(rec *record) (err error) {
		n, err = s.fence(rec, t)
		return err
	})
	return n, err
}

// harness judges the reference as change leaves it. Its hooks reach into the
// records.
func harness(change func(*reference)) storetest.Harness {
	changed := func(testing.TB) store.Store {
		s := newReference()
		change(s)
		return s
	}
	plant := func(spoil func(*record)) func(context.Context, store.Store, store.Key) error {
		return func(_ context.Context, s store.Store, k store.Key) error {
			spoil(s.(*reference).peek(k))
			return nil
		}
	}
	return storetest.Harness{New: changed, FakeTime: true, Hooks: storetest.Hooks{
		Corrupt:   plant(func(rec *record) { rec.state = garbage }),
		WrongType: plant(func(rec *record) { rec.state = list }),
		Persist:   plant(func(rec *record) { rec.expires = time.Time{} }),
		HasExpiry: func(_ context.Context, s store.Store, k store.Key) (bool, error) {
			return !s.(*reference).peek(k).expires.IsZero(), nil
		},
		Silent: func(t testing.TB) store.Store {
			s := changed(t).(*reference)
			answer := s.check
			s.check = func(ctx context.Context, invalid error) error {
				return answer(silent{ctx}, invalid)
			}
			return s
		},
	}}
}

func (s *reference) peek(k store.Key) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec := s.records[s.name(k)]; rec != nil {
		return rec
	}
	return new(record)
}

// silent is the context of a call that the server never answers.
type silent struct{ context.Context }

func check(ctx context.Context, invalid error) error {
	if invalid != nil {
		return invalid
	}
	if ctx, ok := ctx.(silent); ok {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return &store.Error{Driver: "reference", Op: "call", Class: store.Unknown, Err: err}
	}
	return nil
}

var errForeign = &store.Error{
	Driver: "reference", Op: "complete", Class: store.Permanent, Err: errors.New("a value of a foreign type"),
}
