package storetest

import (
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

const (
	raceKeys   = 12
	contenders = 8
)

var raceCases = []Case{{
	Name:     "of many concurrent claims on a free key exactly one is granted",
	Sentence: 1,
	Why:      "copies of one message reach two consumers at the same moment after a rebalance",
	run: func(x *trial) {
		for i := range raceKeys {
			x.race(x.numbered(i))
		}
	},
}, {
	Name:     "of many concurrent claims on a lapsed key exactly one is granted",
	Sentence: 1,
	Why:      "a take-over that reads, decides and then writes lets every waiting copy in after a crash",
	run: func(x *trial) {
		for i := range raceKeys {
			x.claimed(x.lapsing(x.numbered(i), store.NewToken()))
		}
		x.wait(2 * x.h.Unit)
		for i := range raceKeys {
			x.race(x.numbered(i))
		}
	},
}, {
	Name:     "of many concurrent claims on a released key exactly one is granted",
	Sentence: 1,
	Why:      "a failed callback gives its key back while copies are waiting for it",
	run: func(x *trial) {
		for i := range raceKeys {
			k, a := x.numbered(i), store.NewToken()
			x.claimed(x.request(k, a))
			x.release(k, a, true, nil)
			x.race(k)
		}
	},
}}

func (x *trial) numbered(i int) store.Key { return x.key(string(rune('a' + i))) }

// race claims k from many goroutines at once and wants one grant, and Busy for
// everybody else.
func (x *trial) race(k store.Key) {
	if x.err != nil {
		return
	}
	var (
		verdicts [contenders]store.Verdict
		errs     [contenders]error
		start    = make(chan struct{})
		ended    sync.WaitGroup
	)
	for i := range contenders {
		ended.Go(func() {
			<-start
			verdicts[i], errs[i] = x.store.Claim(x.ctx, x.request(k, store.NewToken()))
		})
	}
	close(start)
	ended.Wait()

	granted := 0
	for i, v := range verdicts {
		switch {
		case x.failed("concurrent claim", errs[i]):
		case v.State == store.Claimed:
			granted++
		case v.State != store.Busy:
			x.failf("concurrent claim: got %v, want claimed or busy", v.State)
		}
	}
	if granted != 1 {
		x.failf("%d of %d concurrent claims were granted, want 1", granted, contenders)
	}
}
