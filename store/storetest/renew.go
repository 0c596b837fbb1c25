package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var renewCases = []Case{{
	Name:     "a renewal starts the stored lease anew",
	Sentence: 7,
	Why:      "a callback that runs longer than one lease would be overtaken by a copy",
	needs:    renewer,
	run: func(x *trial) {
		k, a := x.key("renew"), store.NewToken()
		x.claimed(x.request(k, a))
		x.wait(x.h.Unit)
		from := time.Now()
		x.renew(k, a, nil)
		x.left(k, long, from, time.Now())
	},
}, {
	Name:     "a renewal answers each claim in its place",
	Sentence: 5,
	Why:      "one lost claim among many would cancel another message's callback",
	needs:    renewer,
	run: func(x *trial) {
		a, b, c := store.NewToken(), store.NewToken(), store.NewToken()
		x.claimed(x.request(x.key("1"), a))
		x.claimed(x.request(x.key("2"), b))
		x.release(x.key("2"), b, true, nil)
		x.claimed(x.request(x.key("3"), c))
		x.renewAll([]store.Claim{
			{Key: x.key("1"), Token: a}, {Key: x.key("2"), Token: b}, {Key: x.key("3"), Token: c}, {Key: x.key("4"), Token: c},
		}, nil, store.ErrNotOwner, nil, store.ErrNotOwner)
		x.renewAll(nil)
	},
}, {
	Name:     "a lapsed claim that nobody took over is renewed",
	Sentence: 5,
	Why:      "a pause of the process would cancel callbacks although nobody else wants their keys",
	needs:    renewer,
	run: func(x *trial) {
		k, a := x.key("overdue"), store.NewToken()
		x.claimed(x.lapsing(k, a))
		x.wait(2 * x.h.Unit)
		from := time.Now()
		x.renew(k, a, nil)
		x.takeOver(x.request(k, store.NewToken()))
		x.notBefore(from, x.h.Unit)
	},
}, {
	Name:     "a claim that was taken over is not renewed",
	Sentence: 5,
	Why:      "the first callback would go on beside the second without being told",
	needs:    renewer,
	run: func(x *trial) {
		k, a := x.key("taken over"), store.NewToken()
		x.claimed(x.lapsing(k, a))
		from := time.Now()
		x.takeOver(x.request(k, store.NewToken()))
		to := time.Now()
		x.wait(x.h.Unit)
		x.renew(k, a, store.ErrNotOwner)
		x.left(k, long, from, to)
	},
}, {
	Name:     "a released claim is not renewed",
	Sentence: 5,
	Why:      "a renewal that was under way would hold a key that its owner has given back",
	needs:    renewer,
	run: func(x *trial) {
		k, a := x.key("released"), store.NewToken()
		x.claimed(x.request(k, a))
		x.release(k, a, true, nil)
		x.renew(k, a, store.ErrNotOwner)
		x.claimed(x.request(k, store.NewToken()))
	},
}, {
	Name:     "a completed claim is not renewed",
	Sentence: 6,
	Why:      "a renewal that was under way would turn done back into in flight",
	needs:    renewer,
	run: func(x *trial) {
		k, a := x.key("completed"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.renew(k, a, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a renewal without a record is refused and leaves the key free",
	Sentence: 5,
	Why:      "an owner whose record was lost must learn that it is alone with its belief",
	needs:    renewer,
	run: func(x *trial) {
		k := x.key("absent")
		x.renew(k, store.NewToken(), store.ErrNotOwner)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}}
