package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Finding is a Verifier's answer. The zero Finding is Unknown, and so is any
// value without a name.
type Finding uint8

// The answers of a Verifier.
const (
	Unknown     Finding = iota // cannot tell; the key is asked about again
	Happened                   // the effect is there; the key is completed
	NotHappened                // the effect is not there; the key is retried
)

// Verifier looks up whether the effect of k is there. An error or a panic is
// Unknown. It has the shape of the Verifier of package dedup, whose findings
// have the same names and numbers: return Finding(f) to use one for both.
type Verifier func(ctx context.Context, k store.Key) (Finding, error)

var errUndecided = errors.New("the Verifier cannot tell")

// verify asks the Verifier. With Unknown it returns the reason.
func (r *Reconciler) verify(ctx context.Context, k store.Key) (Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	var finding Finding
	err := guarded(func() (err error) {
		finding, err = r.options.Verifier(ctx, k)
		return err
	})
	switch {
	case err != nil:
		return Unknown, err
	case finding == Happened, finding == NotHappened:
		return finding, nil
	}
	return Unknown, errUndecided
}

// retry asks for another run of k.
func (r *Reconciler) retry(ctx context.Context, k store.Key) error {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	return guarded(func() error { return r.options.Retry(ctx, k) })
}

// guarded calls a function of the user's and makes a panic of it an error.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}
