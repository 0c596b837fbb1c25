// Package dedup is the engine that runs a callback once per key. Use this when
// you consume from anything but RocketMQ's push consumer, for which package
// listener wraps it.
//
// Start with [New] and [Guard.Do]: the guard claims the key in a store, runs
// the callback under a lease that it renews, records success and releases the
// key on failure. A copy of finished work is skipped; a copy of running work is
// deferred, which means that the caller must have it delivered again.
//
// What it promises: no message is lost by it, no two owners of one key are
// alive at once by the store's clock, and a completed key gets no new claim
// until its keep ends. What it does not promise: a callback that failed or
// crashed half way runs again, and one that ignores its cancelled context after
// its lease is gone may overlap with the next.
//
// DESIGN.md in this folder has the state diagram, the invariants and the file
// map.
package dedup
