package demo

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// mortal is the store as a consumer sees it whose process may die: it claims,
// renews and releases nothing from then on. What it has charged it still records,
// see the package comment.
type mortal struct {
	Records
	gone *atomic.Bool
}

var (
	_ store.Store   = mortal{}
	_ store.Renewer = mortal{}
)

var errGone = errors.New("the process is gone")

// Claim is the store's, in life.
func (s mortal) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if s.gone.Load() {
		return store.Verdict{}, refusal("claim")
	}
	return s.Records.Claim(ctx, r)
}

// Release is the store's, in life.
func (s mortal) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	if s.gone.Load() {
		return refusal("release")
	}
	return s.Records.Release(ctx, k, t, ran)
}

// Renew is the store's, in life.
func (s mortal) Renew(ctx context.Context, claims []store.Claim) []error {
	if !s.gone.Load() {
		return s.Records.Renew(ctx, claims)
	}
	errs := make([]error, len(claims))
	for i := range errs {
		errs[i] = refusal("renew")
	}
	return errs
}

// refusal is of the class that the engine does not repeat.
func refusal(op string) error {
	return &store.Error{Driver: "demo", Op: op, Class: store.Permanent, Err: errGone}
}
