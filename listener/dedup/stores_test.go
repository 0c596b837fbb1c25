package dedup_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// completeAnswer answers every complete with the zero Completion and err.
type completeAnswer struct {
	store.Store
	err   error
	calls int
}

func (c *completeAnswer) Complete(context.Context, store.Key, store.Token, time.Duration) (store.Completion, error) {
	c.calls++
	return 0, c.err
}

// noRights refuses every complete for good, until somebody mends that.
type noRights struct {
	*memstore.Store
	mended time.Time
}

func (n noRights) Complete(
	ctx context.Context, k store.Key, t store.Token, keep time.Duration,
) (store.Completion, error) {
	if time.Now().Before(n.mended) {
		return 0, &store.Error{Class: store.Permanent, Err: errBoom}
	}
	return n.Store.Complete(ctx, k, t, keep)
}

// silentClaims applies claims and, while on, loses every reply.
type silentClaims struct {
	store.Store
	on bool
}

func (s *silentClaims) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	v, err := s.Store.Claim(ctx, r)
	if s.on {
		return store.Verdict{}, errBoom
	}
	return v, err
}

// lateReply applies claims at once and answers the first ones late.
type lateReply struct {
	*memstore.Store
	delay  time.Duration
	times  int
	claims int
}

func (l *lateReply) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	v, err := l.Store.Claim(ctx, r)
	if l.claims++; l.claims <= l.times {
		time.Sleep(l.delay)
	}
	return v, err
}

// slowRenewals takes its time for each call.
type slowRenewals struct {
	*memstore.Store
	delay time.Duration
	calls atomic.Int32
}

func (s *slowRenewals) Renew(ctx context.Context, claims []store.Claim) []error {
	s.calls.Add(1)
	select {
	case <-ctx.Done():
	case <-time.After(s.delay):
	}
	return s.Store.Renew(ctx, claims)
}

// terseRenewals answers the first calls with an empty list.
type terseRenewals struct {
	*memstore.Store
	times int
}

func (s *terseRenewals) Renew(ctx context.Context, claims []store.Claim) []error {
	if s.times > 0 {
		s.times--
		return nil
	}
	return s.Store.Renew(ctx, claims)
}

// deafRenewals ignores that its caller has given up.
type deafRenewals struct {
	*memstore.Store
	delay time.Duration
}

func (s *deafRenewals) Renew(_ context.Context, claims []store.Claim) []error {
	time.Sleep(s.delay)
	return s.Store.Renew(context.Background(), claims)
}

// answering answers every claim with verdict and err.
type answering struct {
	store.Store
	verdict   store.Verdict
	err       error
	meanwhile func() // happens during a claim
	claims    int
}

func (a *answering) Claim(context.Context, store.ClaimRequest) (store.Verdict, error) {
	a.claims++
	if a.meanwhile != nil {
		a.meanwhile()
	}
	return a.verdict, a.err
}

// noReleases refuses every release for good.
type noReleases struct{ *memstore.Store }

func (noReleases) Release(context.Context, store.Key, store.Token, bool) error {
	return &store.Error{Class: store.Permanent, Err: errBoom}
}

// failsAtOnce fails every claim, that of the key "at once" for good.
type failsAtOnce struct{ store.Store }

func (f *failsAtOnce) Claim(_ context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if r.Key.ID == "at once" {
		return store.Verdict{}, &store.Error{Class: store.Permanent, Err: errBoom}
	}
	return store.Verdict{}, &store.Error{Class: store.NotApplied, Err: errBoom}
}

// halfLost loses one of its keys until it is back, as a cluster may, and another
// one until later.
type halfLost struct {
	*memstore.Store
	back, later atomic.Bool
}

func (h *halfLost) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if r.Key.ID == "lost" && !h.back.Load() || r.Key.ID == "lost for longer" && !h.later.Load() {
		return store.Verdict{}, &store.Error{Class: store.NotApplied, Err: errBoom}
	}
	return h.Store.Claim(ctx, r)
}

func (h *halfLost) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	answers := make([]store.ClaimAnswer, len(rs))
	for i, r := range rs {
		answers[i].Verdict, answers[i].Err = h.Claim(ctx, r)
	}
	return answers
}
