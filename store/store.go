package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store keeps one record per [Key]. All methods are safe for concurrent use,
// act atomically on the record and return within the deadline of ctx. Failures
// are reported as [*Error], whose [Class] tells whether to repeat the call.
type Store interface {
	// Claim asks for the right to run r.Key. Only a Verdict with State Claimed
	// grants it; an error grants nothing and denies nothing. Claiming again
	// with the same token answers Claimed with the same attempt and re-arms the
	// lease, so a lost reply is answered by repeating the call.
	Claim(ctx context.Context, r ClaimRequest) (Verdict, error)

	// Complete records that the effect of k happened and is to be remembered
	// for keep. It is absorbing and needs no ownership: success says that the
	// effect is there, and refusing to record it could only cause another run.
	Complete(ctx context.Context, k Key, t Token, keep time.Duration) (Completion, error)

	// Release gives the claim back, so that the next claim is granted at once.
	// ran tells whether the callback was started; if not, the attempt is given
	// back too. It returns ErrNotOwner, changing nothing, when t does not own k
	// now; a repeat of the same release is no error.
	Release(ctx context.Context, k Key, t Token, ran bool) error
}

// The bounds of every duration that a record carries.
const (
	MinDuration = time.Millisecond
	MaxDuration = 100 * 365 * 24 * time.Hour
)

// ClaimRequest is one claim. All fields but the last two are required.
type ClaimRequest struct {
	Key     Key
	Token   Token
	Lease   time.Duration // how long the claim holds without renewal
	Horizon time.Duration // how long the owner's memory outlives the lease

	MaxAttempts int           // the claim that would exceed it parks the record; 0 = no limit
	ParkKeep    time.Duration // how long such a record stays parked; required with MaxAttempts
}

// Validate reports every field that is missing or out of bounds. Its errors
// wrap [ErrInvalid]. Stores call it before anything else.
func (r ClaimRequest) Validate() error {
	if err := r.Key.Validate(); err != nil {
		return err
	}
	if r.Token.IsZero() {
		return fmt.Errorf("%w: Token is zero", ErrInvalid)
	}
	var park error
	switch {
	case r.MaxAttempts < 0:
		park = fmt.Errorf("%w: MaxAttempts is %d, want 0 (no limit) or more", ErrInvalid, r.MaxAttempts)
	case r.MaxAttempts > 0:
		park = checkDuration("ParkKeep", r.ParkKeep)
	}
	return errors.Join(checkDuration("Lease", r.Lease), checkDuration("Horizon", r.Horizon), park)
}

// ValidateOwned checks the arguments that every call about a claim shares. Its
// errors wrap [ErrInvalid].
func ValidateOwned(k Key, t Token) error {
	if err := k.Validate(); err != nil {
		return err
	}
	if t.IsZero() {
		return fmt.Errorf("%w: Token is zero", ErrInvalid)
	}
	return nil
}

// ValidateKept checks the arguments of [Store].Complete and [Parker].Park. Its
// errors wrap [ErrInvalid].
func ValidateKept(k Key, t Token, keep time.Duration) error {
	if err := ValidateOwned(k, t); err != nil {
		return err
	}
	return checkDuration("keep", keep)
}

func checkDuration(name string, d time.Duration) error {
	if d < MinDuration || d > MaxDuration {
		return fmt.Errorf("%w: %s is %v, want %v to %v", ErrInvalid, name, d, MinDuration, MaxDuration)
	}
	return nil
}
