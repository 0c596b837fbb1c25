package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var claimCases = []Case{{
	Name: "a free key is claimed as attempt one",
	Why:  "a store that refuses free keys stops the consumer",
	run: func(x *trial) {
		x.claimed(x.request(x.key("free"), store.NewToken()), 1)
	},
}, {
	Name: "a live claim refuses every other token",
	Why:  "two copies of one message would run at the same time",
	run: func(x *trial) {
		k := x.key("live")
		x.claimed(x.request(k, store.NewToken()), 1)
		x.answers(x.request(k, store.NewToken()), store.Busy)
		x.answers(x.request(k, store.NewToken()), store.Busy)
	},
}, {
	Name: "busy tells the remaining lease by the store's own clock",
	Why:  "a copy is deferred for that long: too short burns retries, too long delays the take-over of a crash",
	run: func(x *trial) {
		k := x.key("left")
		from := time.Now()
		x.claimed(x.request(k, store.NewToken()), 1)
		to := time.Now()
		x.wait(x.h.Unit)
		x.left(k, long, from, to)
	},
}}

// left asks for the key and wants Busy with what is left of a lease that the
// store began between from and to.
func (x *trial) left(k store.Key, lease time.Duration, from, to time.Time) {
	max := lease - time.Since(to)
	v := x.answers(x.request(k, store.NewToken()), store.Busy)
	min := lease - time.Since(from)
	if v.Left < min-x.slack() || v.Left > max+x.slack() {
		x.failf("claim: got busy with %v left, want %v to %v", v.Left, min, max)
	}
}
