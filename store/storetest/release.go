package storetest

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

var releaseCases = []Case{{
	Name: "a released key is granted at once as the next attempt",
	Why:  "a failed callback would wait for its own lease, and failures would not be counted",
	run: func(x *trial) {
		k, a := x.key("released"), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, true, nil)
		x.attempt(x.request(k, store.NewToken()), 2)
	},
}, {
	Name: "a release that did not run gives the attempt back",
	Why:  "deferring a message without running it would bring it closer to being parked",
	run: func(x *trial) {
		k, a := x.key("not run"), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, false, nil)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:     "a repeated release is accepted and subtracts nothing",
	Sentence: 2,
	Why:      "a release whose reply was lost is repeated; it must neither fail nor give back two attempts",
	run: func(x *trial) {
		k, a, b := x.key("twice"), store.NewToken(), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, true, nil)
		x.claimed(x.request(k, b))
		x.release(k, b, false, nil)
		x.release(k, b, false, nil)
		x.attempt(x.request(k, store.NewToken()), 2)
	},
}, {
	Name:     "a release by a token that never claimed changes nothing",
	Sentence: 5,
	Why:      "a refused copy that tidies up would let a third one run beside the first",
	run: func(x *trial) {
		k := x.key("stranger")
		x.claimed(x.request(k, store.NewToken()))
		x.release(k, store.NewToken(), true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Busy)
	},
}, {
	Name:     "a release by an earlier owner changes nothing",
	Sentence: 5,
	Why:      "the original deleted the next owner's claim this way: three callbacks for one key",
	run: func(x *trial) {
		k, a, b := x.key("earlier owner"), store.NewToken(), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.takeOver(x.request(k, b))
		x.release(k, a, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Busy)
		x.release(k, b, true, nil)
		x.claimed(x.request(k, store.NewToken()))
		x.release(k, b, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Busy)
	},
}, {
	Name:     "a release without a record is refused and leaves the key free",
	Sentence: 5,
	Why:      "an owner must learn that its record is gone, and nothing may arise from that",
	run: func(x *trial) {
		k := x.key("absent")
		x.release(k, store.NewToken(), true, store.ErrNotOwner)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:     "a lapsed claim that nobody took over can be released",
	Sentence: 5,
	Why:      "a message that waited too long to be started would lose an attempt it never used",
	run: func(x *trial) {
		k, a := x.key("overdue"), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.wait(2 * x.h.Unit)
		x.release(k, a, false, nil)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}}
