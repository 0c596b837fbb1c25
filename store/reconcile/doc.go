// Package reconcile finds claims that nobody ended and brings them to an end.
// Use this when your business operation is not in one transaction with its
// record, so that a process may die between the two: the operation happened and
// nothing says so, or it never did and no message is on its way any more.
//
// Start with [New] and run [Reconciler.Run] beside the consumer, in as many
// processes as you like. It looks for claims that have been over for
// Options.Overdue, in small pages, and takes each over as a consumer does, so
// that one reconciler or consumer at a time is at a key. Then your [Verifier],
// which may be that of the consumers, tells what became of the operation:
//
//   - [Happened]: the record is completed.
//   - [NotHappened]: the claim is given back, and then Options.Retry is called,
//     which makes somebody do the operation, by publishing the message again for
//     example. Its consumer can claim the key at once.
//   - [Unknown]: the claim is given back, and the key is logged with its age and
//     asked about again when Options.Overdue has passed once more.
//
// # What it promises
//
// Each time that a claim is overdue, one reconciler acts on it, however many
// there are; it gives the attempt back that taking over costs. Retry is called
// at least once for what has not happened: when a process dies between giving
// back and Retry, or Retry fails, the claim is overdue again later. So Retry may
// be called for one message several times, up to Options.RetryAgain by one
// reconciler, and the message must be consumed with deduplication.
//
// A claim that is given back is remembered for its horizon anew. It is found
// only while it is remembered: keep the horizon of the consumers' claims well
// above Options.Overdue plus Options.Every.
//
// # What it does not promise
//
// Nothing stops a callback that goes on after its lease. Should it do the
// operation after the Verifier has looked, the operation happens twice; so let
// Options.Overdue be longer than any callback goes on. Keys with a part over
// [store.MaxPart] are known by a digest only: nothing can be asked about them,
// and they count as unknown. A reconciler that is killed with a claim in hand
// leaves an attempt that no run has used, which counts for the MaxAttempts of
// consumers. In a table that is shared with the Java original only this library's
// claims are found: the original's are forgotten with their lease. Records that
// are shared with it in Redis cannot be listed, and every pass over them fails.
package reconcile
