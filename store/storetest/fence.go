package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var fenceCases = []Case{{
	Name:  "fences of one owner rise, also when it claims again",
	Why:   "a resource that has seen a number refuses every lower one, its owner's included",
	needs: fencer,
	run: func(x *trial) {
		k, a := x.key("owner"), store.NewToken()
		x.claimed(x.request(k, a))
		var last int64
		for range 10 {
			last = x.higher(k, a, last)
		}
		x.claimed(x.request(k, a))
		x.higher(k, a, last)
	},
}, {
	Name:  "fences rise over a release and over a take-over",
	Why:   "a resource would accept the writes of an owner that was replaced",
	needs: fencer,
	run: func(x *trial) {
		k, a, b, c := x.key("owners"), store.NewToken(), store.NewToken(), store.NewToken()
		x.claimed(x.request(k, a))
		last := x.higher(k, a, 0)
		last = x.higher(k, a, last)
		x.release(k, a, true, nil)
		x.claimed(x.lapsing(k, b))
		last = x.higher(k, b, last)
		x.takeOver(x.request(k, c))
		x.higher(k, c, last)
	},
}, {
	Name:  "fences rise although the record was forgotten",
	Why:   "a resource would refuse the only owner there is",
	needs: fencer,
	run: func(x *trial) {
		k, a, b := x.key("forgotten"), store.NewToken(), store.NewToken()
		r := x.request(k, a)
		r.Horizon = x.h.Unit
		x.claimed(r)
		last := x.higher(k, a, 0)
		x.release(k, a, true, nil)
		x.wait(2 * x.h.Unit)
		x.claimed(x.request(k, b))
		x.higher(k, b, last)
	},
}, {
	Name:     "only the owner draws a fence",
	Sentence: 5,
	Why:      "an earlier owner would get a number above the present one's",
	needs:    fencer,
	run: func(x *trial) {
		k, a, b := x.key("owner only"), store.NewToken(), store.NewToken()
		x.noFence(k, a)
		x.claimed(x.request(k, a))
		x.noFence(k, b)
		x.release(k, a, true, nil)
		x.noFence(k, a)
		x.claimed(x.request(k, b))
		x.noFence(k, a)
		x.complete(k, b, long, store.Completed)
		x.noFence(k, b)
	},
}, {
	Name:  "drawing a fence does not move the lease",
	Why:   "a callback that draws fences would never lose its claim, however long it hangs",
	needs: fencer,
	run: func(x *trial) {
		k, a := x.key("lease"), store.NewToken()
		from := time.Now()
		x.claimed(x.request(k, a))
		to := time.Now()
		x.wait(x.h.Unit)
		x.higher(k, a, 0)
		x.left(k, long, from, to)
	},
}}

// higher draws a fence and wants it above last.
func (x *trial) higher(k store.Key, t store.Token, last int64) int64 {
	n := x.fence(k, t)
	if n <= last {
		x.failf("fence: got %d after %d, want a higher one", n, last)
	}
	return n
}

func (x *trial) noFence(k store.Key, t store.Token) {
	if x.err != nil {
		return
	}
	_, err := x.store.(store.Fencer).Fence(x.ctx, k, t)
	x.wantError("fence", err, store.ErrNotOwner)
}
