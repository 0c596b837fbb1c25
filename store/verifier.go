package store

import "context"

// Verifier looks up whether the effect of a key is there: in the business data, or
// by asking the service that was called. An owner may have died between its effect
// and the record of it, which only the effect itself can tell.
//
// One function serves all who ask, under their own names for this type: a
// consumer's policy before it runs a key again (Policy.Verifier of package dedup),
// and a reconciler about claims that nobody ended (Options.Verifier of package
// reconcile). They ask while they hold a claim on k, so that no other owner is at
// work, unless one goes on after its lease.
//
// It must be safe for concurrent use, change nothing, and return soon after ctx has
// ended. An error, a panic and a value without a name count as [FindingUnknown]:
// nothing runs and nothing is recorded, and the key is asked about again later. Read
// what has been committed and where it was written: a replica that lags behind
// answers NotHappened too early, and the effect happens twice.
type Verifier func(ctx context.Context, k Key) (Finding, error)

// Finding is the answer of a [Verifier]. The zero Finding is FindingUnknown, and so
// is any value without a name.
type Finding uint8

// The answers of a [Verifier]. Packages dedup and reconcile name them Unknown,
// Happened and NotHappened.
const (
	FindingUnknown Finding = iota // it cannot tell; the key is asked about again later
	Happened                      // the effect is there; the key is completed without a run
	NotHappened                   // the effect is not there; the key is run, or its message sent again
)
