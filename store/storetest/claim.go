package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var claimCases = []Case{{
	Name:     "a free key is claimed as attempt one",
	Sentence: 1,
	Why:      "a store that refuses free keys stops the consumer",
	run: func(x *trial) {
		x.attempt(x.request(x.key("free"), store.NewToken()), 1)
	},
}, {
	Name:     "a live claim refuses every other token",
	Sentence: 1,
	Why:      "two copies of one message would run at the same time",
	run: func(x *trial) {
		k := x.key("live")
		x.claimed(x.request(k, store.NewToken()))
		x.answers(x.request(k, store.NewToken()), store.Busy)
		x.answers(x.request(k, store.NewToken()), store.Busy)
	},
}, {
	Name:     "busy tells the remaining lease by the store's own clock",
	Sentence: 3,
	Why:      "a copy is deferred for that long: too short burns retries, too long delays the take-over after a crash",
	run: func(x *trial) {
		k := x.key("left")
		from := time.Now()
		x.claimed(x.request(k, store.NewToken()))
		to := time.Now()
		x.wait(x.h.Unit)
		x.left(k, long, from, to)
	},
}, {
	Name:     "a take-over waits for the lease to end and no longer",
	Sentence: 3,
	Why:      "early, two callbacks overlap; late or never, a crash loses the message to the retry limit",
	run: func(x *trial) {
		k, from := x.key("wait"), time.Now()
		x.claimed(x.lapsing(k, store.NewToken()))
		x.takeOver(x.request(k, store.NewToken()))
		x.notBefore(from, x.h.Unit)
	},
}, {
	Name: "a take-over counts the attempt",
	Why:  "a message that kills its process every time would never be parked",
	run: func(x *trial) {
		k := x.key("attempts")
		for attempt := 1; attempt <= 3; attempt++ {
			x.attempt(x.lapsing(k, store.NewToken()), attempt)
			x.wait(2 * x.h.Unit)
		}
	},
}, {
	Name:     "claiming again with the same token answers the same attempt",
	Sentence: 2,
	Why:      "a claim whose reply was lost is repeated; refused, the message would wait for its own lease",
	run: func(x *trial) {
		k, a, b := x.key("again"), store.NewToken(), store.NewToken()
		x.attempt(x.request(k, a), 1)
		x.attempt(x.request(k, a), 1)
		x.release(k, a, true, nil)
		x.attempt(x.request(k, b), 2)
		x.attempt(x.request(k, b), 2)
	},
}, {
	Name:     "claiming again with the same token arms the lease that the repeat asks for",
	Sentence: 2,
	Why:      "the check before a callback starts relies on a whole lease lying ahead of it",
	run: func(x *trial) {
		k, a := x.key("rearm"), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.wait(2 * x.h.Unit)
		from := time.Now()
		x.attempt(x.request(k, a), 1)
		x.left(k, long, from, time.Now())
	},
}, {
	Name:     "a late copy of a released claim is refused",
	Sentence: 2,
	Why:      "a request that was stuck in the network would hold the key for an owner that is gone",
	run: func(x *trial) {
		k, a := x.key("late copy"), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, false, nil)
		x.refused(x.request(k, a))
		x.claimed(x.request(k, store.NewToken()))
	},
}}

// left asks for the key and wants Busy with what is left of a lease that the
// store began between from and to.
func (x *trial) left(k store.Key, lease time.Duration, from, to time.Time) {
	most := lease - time.Since(to)
	v := x.answers(x.request(k, store.NewToken()), store.Busy)
	least := lease - time.Since(from)
	if v.Left < least-x.slack() || v.Left > most+x.slack() {
		x.failf("claim: got busy with %v left, want %v to %v", v.Left, least, most)
	}
}

// notBefore wants at least d to have passed since from, when d had not begun.
func (x *trial) notBefore(from time.Time, d time.Duration) {
	if passed := time.Since(from); passed < d-x.slack() {
		x.failf("granted %v after a term of %v began", passed, d)
	}
}
