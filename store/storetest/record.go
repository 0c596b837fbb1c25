package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var recordCases = []Case{{
	Name:     "a live claim is judged by its own lease and horizon",
	Sentence: 7,
	Why:      "two consumers with different settings, as in every roll-out of new ones, would run one key at once",
	run: func(x *trial) {
		k, from := x.key("live"), time.Now()
		x.claimed(x.request(k, store.NewToken()))
		to := time.Now()
		for _, other := range []time.Duration{store.MinDuration, x.h.Unit, 5 * long} {
			v := x.answers(store.ClaimRequest{Key: k, Token: store.NewToken(), Lease: other, Horizon: other}, store.Busy)
			if least := long - time.Since(from) - x.slack(); v.Left < least || v.Left > long+x.slack() {
				x.failf("claim with lease %v: got %v left, want the stored lease's %v to %v", other, v.Left, least, long)
			}
		}
		x.left(k, long, from, to)
	},
}, {
	Name:     "a lapsed claim is judged by its own lease and horizon",
	Sentence: 7,
	Why:      "a consumer with a longer lease would wait for its own lease after another's crash, or forget the attempt",
	run: func(x *trial) {
		for _, other := range []time.Duration{store.MinDuration, 5 * long} {
			k := x.key(other.String())
			x.claimed(x.lapsing(k, store.NewToken()))
			x.wait(2 * x.h.Unit)
			x.attempt(store.ClaimRequest{Key: k, Token: store.NewToken(), Lease: other, Horizon: other}, 2)
		}
	},
}, {
	Name:     "the memory of a lapsed claim ends with its horizon",
	Sentence: 7,
	Why:      "a key that failed long ago would be parked at its first failure today, and the record never removed",
	run: func(x *trial) {
		k, r := x.key("lapsed"), x.lapsing(x.key("lapsed"), store.NewToken())
		r.Horizon = x.h.Unit
		x.claimed(r)
		x.wait(3 * x.h.Unit)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:     "the memory of a released claim ends with its horizon",
	Sentence: 7,
	Why:      "a key that failed long ago would be parked at its first failure today, and the record never removed",
	run: func(x *trial) {
		k, a := x.key("released"), store.NewToken()
		r := x.request(k, a)
		r.Horizon = x.h.Unit
		x.claimed(r)
		x.release(k, a, true, nil)
		x.wait(2 * x.h.Unit)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}}
