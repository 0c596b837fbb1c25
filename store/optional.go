package store

import (
	"context"
	"time"
)

// Claim names one claim that its caller holds.
type Claim struct {
	Key   Key
	Token Token
}

// Renewer is a Store whose leases can be prolonged. A claim on a store without
// it is granted for the whole of max consume at once.
type Renewer interface {
	// Renew starts the stored lease of each claim anew and returns one result
	// per claim, in the same order: nil, ErrNotOwner when the claim is lost, or
	// another error when the store did not say. A claim that lapsed but was not
	// taken over is renewed.
	Renew(ctx context.Context, claims []Claim) []error
}

// Batcher is a Store that takes many keys in one round trip, or in two.
type Batcher interface {
	// ClaimBatch is Claim for each request, and answers in their order. Each has
	// its own verdict or error; of two requests for one key the second is Busy.
	ClaimBatch(ctx context.Context, requests []ClaimRequest) []ClaimAnswer

	// SettleBatch is Complete or Release for each settlement, and answers in
	// their order, each with its own completion or error.
	SettleBatch(ctx context.Context, settlements []Settlement) []SettleAnswer
}

// ClaimAnswer is what [Store].Claim returns, for one request of a batch.
type ClaimAnswer struct {
	Verdict Verdict
	Err     error
}

// Settlement is the end of one claim: a complete when Keep is positive, else a
// release.
type Settlement struct {
	Claim
	Keep time.Duration // how long done is remembered; 0: release
	Ran  bool          // for a release: the callback was started
}

// SettleAnswer is what [Store].Complete or Release returns, for one settlement
// of a batch. A release has no Completion.
type SettleAnswer struct {
	Completion Completion
	Err        error
}

// Parker is a Store that can take a key out of circulation for keep.
type Parker interface {
	// Park acts for the owner only and returns ErrNotOwner otherwise; a repeat
	// of the same park is no error.
	Park(ctx context.Context, k Key, t Token, keep time.Duration) error
}

// Fencer is a Store that can number the owners of a key in order, for resources
// that reject writes of an earlier owner.
type Fencer interface {
	// Fence draws a number for the owner of k that is higher than every number
	// drawn for k before, as long as the record or the store's clock lasts: the
	// larger of the previous number plus one and the store's time in
	// milliseconds. It returns ErrNotOwner when t does not own k now.
	Fence(ctx context.Context, k Key, t Token) (int64, error)
}

// Checker is a Store that can test itself and its server before use.
type Checker interface {
	// Check returns nil, or every finding that endangers the contract, each
	// with its remedy. It touches no record of the application.
	Check(ctx context.Context) error
}

// Instant marks a Store that answers from memory and never waits. Callers may
// leave out deadlines and repeats, which costs less than arming them.
type Instant interface {
	// Instant does nothing.
	Instant()
}
