package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Verifier looks up whether the effect of a key is there. An error or a panic is
// Unknown. The same function may be the Verifier of the consumers' dedup.Policy,
// which asks it before it runs a key again.
type Verifier = store.Verifier

// Finding is a Verifier's answer. The zero Finding is Unknown, and so is any value
// without a name.
type Finding = store.Finding

// The answers of a Verifier.
const (
	Unknown     = store.FindingUnknown // cannot tell; the key is asked about again
	Happened    = store.Happened       // the effect is there; the key is completed
	NotHappened = store.NotHappened    // the effect is not there; the key is retried
)

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
