package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var completeCases = []Case{{
	Name:     "a completed key is done for every token",
	Sentence: 6,
	Why:      "a copy that arrives after the work would run it again",
	run: func(x *trial) {
		k, a := x.key("done"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.answers(x.request(k, store.NewToken()), store.Done)
		x.answers(x.request(k, a), store.Done)
	},
}, {
	Name:     "done ends with its keep",
	Sentence: 4,
	Why:      "records that never end fill the store, and a key that is used again is dropped for ever",
	run: func(x *trial) {
		k, a := x.key("keep"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, x.h.Unit, store.Completed)
		x.wait(2 * x.h.Unit)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:     "copies do not move the end of done",
	Sentence: 4,
	Why:      "a sender that repeats itself would keep its key blocked, or cut short the memory of it",
	run: func(x *trial) {
		k, a, keep := x.key("copies"), store.NewToken(), 2*x.h.Unit
		x.claimed(x.request(k, a))
		from := time.Now()
		x.complete(k, a, keep, store.Completed)
		x.claimedAfter(store.Done, x.request(k, store.NewToken()))
		x.notBefore(from, keep)
	},
}, {
	Name:     "a shorter second complete does not shorten done",
	Sentence: 4,
	Why:      "a slow twin with other settings would make the key run again too early",
	run: func(x *trial) {
		k, a := x.key("shorter"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.complete(k, a, x.h.Unit, store.Completed)
		x.complete(k, store.NewToken(), x.h.Unit, store.AlreadyDone)
		x.wait(2 * x.h.Unit)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a longer second complete prolongs done",
	Sentence: 4,
	Why:      "whoever completes was promised that the key is remembered for the keep it named",
	run: func(x *trial) {
		k, a := x.key("longer"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, x.h.Unit, store.Completed)
		x.completeLate(k, store.NewToken(), long)
		x.wait(2 * x.h.Unit)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a repeated complete answers completed",
	Sentence: 2,
	Why:      "a complete whose reply was lost is repeated; another answer would count a duplicate run that never was",
	run: func(x *trial) {
		k, a := x.key("twice"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.complete(k, a, long, store.Completed)
	},
}, {
	Name: "completing what somebody else completed answers already done",
	Why:  "this is how a second run of a key comes to light",
	run: func(x *trial) {
		k, a := x.key("already"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.complete(k, store.NewToken(), long, store.AlreadyDone)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "completing after a take-over answers late and makes the key done",
	Sentence: 6,
	Why:      "the effect happened; refusing to record it can only cause one more run",
	run: func(x *trial) {
		k, a, b := x.key("late"), store.NewToken(), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.takeOver(x.request(k, b))
		x.complete(k, a, long, store.Late)
		x.answers(x.request(k, store.NewToken()), store.Done)
		x.release(k, b, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "completing after a release answers late and makes the key done",
	Sentence: 6,
	Why:      "a callback that was given up but succeeded after all must not run again",
	run: func(x *trial) {
		k, a := x.key("given up"), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, true, nil)
		x.complete(k, a, long, store.Late)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "completing a parked key answers late and makes the key done",
	Sentence: 6,
	Why:      "a poison message whose last run succeeded after all is not poison",
	run: func(x *trial) {
		k, a := x.key("parked"), store.NewToken()
		x.parked(k, a, long)
		x.complete(k, a, long, store.Late)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "completing without a record answers recreated and makes the key done",
	Sentence: 6,
	Why:      "a store that lost its data must learn again what is finished, and somebody must hear of it",
	run: func(x *trial) {
		k := x.key("vanished")
		x.complete(k, store.NewToken(), long, store.Recreated)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name: "a lapsed claim that nobody took over completes as its owner's",
	Why:  "a callback that outlived its lease without harm would be counted as a conflict",
	run: func(x *trial) {
		k, a := x.key("overdue"), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.wait(2 * x.h.Unit)
		x.complete(k, a, long, store.Completed)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a stale owner's release does not undo done",
	Sentence: 6,
	Why:      "the original erased finished records this way, and the message ran a third time",
	run: func(x *trial) {
		k, a, b := x.key("stale"), store.NewToken(), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.takeOver(x.request(k, b))
		x.complete(k, b, long, store.Completed)
		x.release(k, a, true, store.ErrNotOwner)
		x.release(k, b, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}}
