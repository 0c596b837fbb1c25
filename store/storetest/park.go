package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var parkCases = []Case{{
	Name: "a claim beyond MaxAttempts parks a released key",
	Why:  "a message that always fails would run for ever",
	run: func(x *trial) {
		x.parked(x.key("released"), store.NewToken(), long)
	},
}, {
	Name: "a claim beyond MaxAttempts parks a lapsed key",
	Why:  "a message that kills its process every time would kill every consumer in turn",
	run: func(x *trial) {
		k := x.key("lapsed")
		x.claimed(x.lapsing(k, store.NewToken()))
		v := x.next(limited(x.request(k, store.NewToken()), 1, long), store.Busy)
		if v.State != store.Parked {
			x.failf("claim beyond the limit: got %v, want parked", v.State)
		}
		x.answers(x.request(k, store.NewToken()), store.Parked)
	},
}, {
	Name: "MaxAttempts counts started runs and grants the last of them",
	Why:  "parked one attempt early, or for attempts that never ran, a good message is set aside",
	run: func(x *trial) {
		k, a, b := x.key("last"), store.NewToken(), store.NewToken()
		x.claimed(limited(x.request(k, a), 1, long))
		x.release(k, a, false, nil)
		x.claimed(limited(x.request(k, b), 2, long))
		x.release(k, b, true, nil)
		x.claimed(limited(x.request(k, store.NewToken()), 2, long))
	},
}, {
	Name: "no MaxAttempts means no limit",
	Why:  "zero is the default: everything that ever failed would be parked",
	run: func(x *trial) {
		k := x.key("no limit")
		for range 5 {
			a := store.NewToken()
			x.claimed(x.request(k, a))
			x.release(k, a, true, nil)
		}
	},
}, {
	Name:     "repeating the last permitted claim does not park it",
	Sentence: 2,
	Why:      "a lost reply to the last attempt would park a message that is about to run",
	run: func(x *trial) {
		k, a := x.key("repeat"), store.NewToken()
		x.claimed(limited(x.lapsing(k, a), 1, long))
		x.claimed(limited(x.lapsing(k, a), 1, long))
		x.wait(2 * x.h.Unit)
		x.claimed(limited(x.request(k, a), 1, long))
	},
}, {
	Name: "a key that a claim parked is free again when its keep ends",
	Why:  "parked records that never end fill the store and block a key that was mended",
	run: func(x *trial) {
		k, keep, from := x.key("keep"), 2*x.h.Unit, time.Now()
		x.parked(k, store.NewToken(), keep)
		x.claimedAfter(store.Parked, x.request(k, store.NewToken()))
		x.notBefore(from, keep)
	},
}, {
	Name:  "the owner parks its key for every token",
	Why:   "a message that can never succeed would take up every retry",
	needs: parker,
	run: func(x *trial) {
		k, a := x.key("park"), store.NewToken()
		x.claimed(x.request(k, a))
		x.park(k, a, long, nil)
		x.answers(x.request(k, store.NewToken()), store.Parked)
		x.answers(x.request(k, a), store.Parked)
	},
}, {
	Name:     "a repeated park is accepted",
	Sentence: 2,
	Why:      "a park whose reply was lost is repeated",
	needs:    parker,
	run: func(x *trial) {
		k, a := x.key("park twice"), store.NewToken()
		x.claimed(x.request(k, a))
		x.park(k, a, long, nil)
		x.park(k, a, long, nil)
		x.answers(x.request(k, store.NewToken()), store.Parked)
	},
}, {
	Name:  "a key that its owner parked is free again when its keep ends",
	Why:   "parked records that never end fill the store and block a key that was mended",
	needs: parker,
	run: func(x *trial) {
		k, a, keep := x.key("park ends"), store.NewToken(), 2*x.h.Unit
		x.claimed(x.request(k, a))
		from := time.Now()
		x.park(k, a, keep, nil)
		x.claimedAfter(store.Parked, x.request(k, store.NewToken()))
		x.notBefore(from, keep)
	},
}, {
	Name:     "a park by anyone but the owner changes nothing",
	Sentence: 5,
	Why:      "a stale owner would take a key away that another one is about to finish",
	needs:    parker,
	run: func(x *trial) {
		k, a, b := x.key("park refused"), store.NewToken(), store.NewToken()
		x.park(k, a, long, store.ErrNotOwner)
		x.claimed(x.lapsing(k, a))
		x.takeOver(x.request(k, b))
		x.park(k, a, long, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Busy)
		x.complete(k, b, long, store.Completed)
		x.park(k, b, long, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a parked key is not its owner's any more",
	Sentence: 5,
	Why:      "a release that follows would put the poison back into circulation",
	needs:    parker,
	run: func(x *trial) {
		k, a := x.key("park ended"), store.NewToken()
		x.claimed(x.request(k, a))
		x.park(k, a, long, nil)
		x.release(k, a, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Parked)
	},
}}

// parked brings a key of its own into the parked state through its attempts; a
// is the owner of the one attempt it had.
func (x *trial) parked(k store.Key, a store.Token, keep time.Duration) {
	x.claimed(x.request(k, a))
	x.release(k, a, true, nil)
	x.answers(limited(x.request(k, store.NewToken()), 1, keep), store.Parked)
	if keep == long {
		x.answers(x.request(k, store.NewToken()), store.Parked)
	}
}
