package storetest

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Flaky returns s with f between it and its caller. The result is a Renewer, a
// Parker, a Fencer and a Batcher exactly if s is one; it is no Instant, no
// Checker and no Pulser. A fault hits a batch as a whole.
func Flaky(s store.Store, f *Faults) store.Store {
	renews, r := s.(store.Renewer)
	parks, p := s.(store.Parker)
	fences, n := s.(store.Fencer)
	batches, b := s.(store.Batcher)
	return parts{
		&flaky{s, f}, flakyRenewer{renews, f}, flakyParker{parks, f}, flakyFencer{fences, f}, flakyBatcher{batches, f},
		[3]bool{r, p, n},
	}.store(b)
}

type flaky struct {
	s store.Store
	f *Faults
}

func (y *flaky) Claim(ctx context.Context, r store.ClaimRequest) (v store.Verdict, err error) {
	if fault := y.f.call(ctx, Claim, func() { v, err = y.s.Claim(ctx, r) }); fault != nil {
		return store.Verdict{}, fault
	}
	return v, err
}

func (y *flaky) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (c store.Completion, err error) {
	if fault := y.f.call(ctx, Complete, func() { c, err = y.s.Complete(ctx, k, t, keep) }); fault != nil {
		return 0, fault
	}
	return c, err
}

func (y *flaky) Release(ctx context.Context, k store.Key, t store.Token, ran bool) (err error) {
	if fault := y.f.call(ctx, Release, func() { err = y.s.Release(ctx, k, t, ran) }); fault != nil {
		return fault
	}
	return err
}

type flakyRenewer struct {
	s store.Renewer
	f *Faults
}

func (y flakyRenewer) Renew(ctx context.Context, claims []store.Claim) (errs []error) {
	if fault := y.f.call(ctx, Renew, func() { errs = y.s.Renew(ctx, claims) }); fault != nil {
		errs = make([]error, len(claims))
		for i := range errs {
			errs[i] = fault
		}
	}
	return errs
}

type flakyParker struct {
	s store.Parker
	f *Faults
}

func (y flakyParker) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) (err error) {
	if fault := y.f.call(ctx, Park, func() { err = y.s.Park(ctx, k, t, keep) }); fault != nil {
		return fault
	}
	return err
}

type flakyFencer struct {
	s store.Fencer
	f *Faults
}

func (y flakyFencer) Fence(ctx context.Context, k store.Key, t store.Token) (n int64, err error) {
	if fault := y.f.call(ctx, Fence, func() { n, err = y.s.Fence(ctx, k, t) }); fault != nil {
		return 0, fault
	}
	return n, err
}

type flakyBatcher struct {
	s store.Batcher
	f *Faults
}

func (y flakyBatcher) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) (answers []store.ClaimAnswer) {
	if fault := y.f.call(ctx, ClaimBatch, func() { answers = y.s.ClaimBatch(ctx, requests) }); fault != nil {
		answers = make([]store.ClaimAnswer, len(requests))
		for i := range answers {
			answers[i].Err = fault
		}
	}
	return answers
}

func (y flakyBatcher) SettleBatch(ctx context.Context, settlements []store.Settlement) (answers []store.SettleAnswer) {
	if fault := y.f.call(ctx, SettleBatch, func() { answers = y.s.SettleBatch(ctx, settlements) }); fault != nil {
		answers = make([]store.SettleAnswer, len(settlements))
		for i := range answers {
			answers[i].Err = fault
		}
	}
	return answers
}
