package storetest

import (
	"slices"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The cases of a server sweep beside each other: a sweep counts, and spends its
// limit on, records of other cases too, and a record may be gone before the
// case that made it sweeps. Exact numbers are wanted under FakeTime only, where
// a case has the store to itself.
var sweepCases = []Case{{
	Name:  "a sweep removes what has expired",
	Why:   "the table would grow for ever",
	needs: sweeper | hasExpiry,
	run: func(x *trial) {
		x.gallery() // must not stop a sweep
		keys := x.expired()
		x.sweepUntil(func() bool { return !slices.ContainsFunc(keys, x.isThere) })
		for _, k := range keys {
			x.attempt(x.request(k, store.NewToken()), 1)
		}
	},
}, {
	Name:  "a sweep leaves alone what has not expired",
	Why:   "a message would run twice, or beside itself, or never be parked",
	needs: sweeper,
	run: func(x *trial) {
		all := x.gallery()
		for range 3 {
			x.sweep(1000)
		}
		for _, want := range all {
			x.judges(want)
		}
	},
}, {
	Name:  "a sweep removes no more than its limit and counts what it removed",
	Why:   "one statement would lock the table for as long as a backlog of millions takes",
	needs: sweeper,
	run: func(x *trial) {
		x.expired()
		for _, want := range []int{3, 1, 0} {
			if n := x.sweep(3); x.h.FakeTime && n != want {
				x.failf("sweep: removed %d of 4 expired records in steps of 3, want %d", n, want)
			}
		}
	},
}, {
	Name:  "a sweep removes the longest expired first",
	Why:   "a backlog that is swept at its young end keeps its old one for ever",
	needs: sweeper | hasExpiry,
	run: func(x *trial) {
		keys, a := []store.Key{x.key("b"), x.key("c"), x.key("a")}, store.NewToken()
		for _, k := range slices.Backward(keys) {
			x.claimed(x.request(k, a))
		}
		// In this order they expire, whatever the pace.
		x.complete(keys[0], a, x.h.Unit, store.Completed)
		x.claimed(store.ClaimRequest{Key: keys[1], Token: a, Lease: x.h.Unit, Horizon: 2 * x.h.Unit})
		x.complete(keys[2], a, 5*x.h.Unit, store.Completed)
		x.wait(6 * x.h.Unit)
		x.sweepUntil(func() bool { return x.oldestLeft(keys) == len(keys) })
	},
}, {
	Name:     "of many concurrent claims beside sweeps exactly one is granted",
	Sentence: 1,
	Why:      "a sweep that reads, decides and then deletes takes the claim of whoever came between",
	needs:    sweeper,
	run:      func(x *trial) { x.raceBesideSweeps() },
}, {
	Name:     "a sweep without a limit is refused",
	Sentence: 7,
	Why:      "some databases take a limit below 0 for none",
	needs:    sweeper,
	run: func(x *trial) {
		for _, limit := range []int{0, -1, -1 << 31} {
			_, err := x.store.(store.Sweeper).Sweep(x.ctx, limit)
			x.wantError("sweep", err, store.ErrInvalid)
		}
	},
}}

func (x *trial) sweep(limit int) int {
	if x.err != nil {
		return 0
	}
	n, err := x.store.(store.Sweeper).Sweep(x.ctx, limit)
	if !x.failed("sweep", err) && (n < 0 || n > limit) {
		x.failf("sweep: removed %d records with a limit of %d", n, limit)
	}
	return n
}

// sweepUntil sweeps until the case is done, in steps that grow because a server
// has the backlog of others too. A sweep may find that another one is at work.
func (x *trial) sweepUntil(done func() bool) {
	end := time.Now().Add(20*x.h.Unit + 10*time.Second)
	for limit := 1; x.err == nil && !done(); limit = min(2*limit, 1000) {
		if x.sweep(limit) == 0 {
			x.wait(x.h.Unit / 5)
		}
		if time.Now().After(end) {
			x.failf("sweep: an expired record is still there")
		}
	}
}

func (x *trial) isThere(k store.Key) bool {
	if x.err != nil {
		return false
	}
	there, err := x.h.HasExpiry(x.ctx, x.store, k)
	x.failed("Harness.HasExpiry", err)
	return there
}

// oldestLeft returns the place of the first key whose record is there. Under
// FakeTime it wants those after it to be there too; on a server others sweep as
// well, and several databases under one store have an order each. The keys are
// looked at from the last to the first, and again if a sweep may have been at work
// meanwhile.
func (x *trial) oldestLeft(keys []store.Key) int {
	for range 5 {
		oldest, gone, skipped := len(keys), false, false
		for i, k := range slices.Backward(keys) {
			if !x.isThere(k) {
				gone = true
				continue
			}
			oldest, skipped = i, skipped || gone
		}
		if !skipped || !x.h.FakeTime {
			return oldest
		}
		x.wait(x.h.Unit / 5)
	}
	x.failf("sweep: removed a record and left one that had expired longer ago")
	return 0
}

// raceBesideSweeps claims expired keys while sweeps find them expired.
func (x *trial) raceBesideSweeps() {
	for i := range raceKeys {
		a := store.NewToken()
		x.claimed(x.request(x.numbered(i), a))
		x.complete(x.numbered(i), a, x.h.Unit, store.Completed)
	}
	x.wait(2 * x.h.Unit)
	var sweeps sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		sweeps.Go(func() { x.keepSweeping(stop) })
	}
	x.wait(x.pause() / 100) // so that a sweep has begun
	for i := range raceKeys {
		x.race(x.numbered(i))
	}
	close(stop)
	sweeps.Wait()
	for i := range raceKeys {
		x.answers(x.request(x.numbered(i), store.NewToken()), store.Busy)
	}
}

// keepSweeping leaves errors to the cases that sweep alone.
func (x *trial) keepSweeping(stop <-chan struct{}) {
	for {
		_, _ = x.store.(store.Sweeper).Sweep(x.ctx, raceKeys)
		select {
		case <-stop:
			return
		case <-time.After(x.pause()):
		}
	}
}
