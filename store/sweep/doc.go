// Package sweep removes expired records, a few at a time, for as long as a
// program runs. Use this when your store is a [store.Sweeper]: its database keeps
// what has expired until somebody removes it.
//
// Start with [New] and run [Loop.Run] beside the consumer, in every process: the
// store sees to it that one of them sweeps at a time, and another goes on when
// that one ends. Nothing but room depends on it, because expired records count
// as absent anyway: a sweep may be paused, late or left out.
package sweep
