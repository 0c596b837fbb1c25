package storetest

import (
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var forgetCases = []Case{{
	Name:  "a consumed key that was forgotten can run again",
	Why:   "nobody could have a message repeated whose effect was undone by hand",
	needs: forgetter,
	run: func(x *trial) {
		k := x.consumed(x.key("consumed")).Key
		x.forget(k, nil)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:  "a parked key that was forgotten can run again",
	Why:   "a message that was set aside for a mistake since mended would stay lost",
	needs: forgetter,
	run: func(x *trial) {
		k := x.poison(x.key("parked")).Key
		x.forget(k, nil)
		x.attempt(limited(x.request(k, store.NewToken()), 1, long), 1)
	},
}, {
	Name:  "forgetting a lapsed or released key begins its attempts anew",
	Why:   "a message would be parked for the failures that somebody has just cleared away",
	needs: forgetter,
	run: func(x *trial) {
		lapsed, released := x.lapsed(x.key("lapsed")), x.released(x.key("released"), true)
		x.wait(2 * x.h.Unit)
		for _, s := range []sight{lapsed, released} {
			x.forget(s.Key, nil)
			x.release(s.Key, s.Token, true, store.ErrNotOwner)
			x.attempt(x.request(s.Key, store.NewToken()), 1)
		}
	},
}, {
	Name:  "forget removes a record that cannot be understood",
	Why:   "the key could never run again, and nobody could help it",
	needs: forgetter | corrupt,
	run: func(x *trial) {
		k := x.key("corrupt")
		x.claimed(x.request(k, store.NewToken()))
		x.plant("Corrupt", x.h.Corrupt, k)
		x.forget(k, nil)
		x.attempt(x.request(k, store.NewToken()), 1)
	},
}, {
	Name:  "a claim in flight is not forgotten and loses nothing",
	Why:   "a second callback would start beside the one that is running",
	needs: forgetter,
	run: func(x *trial) {
		want := x.consuming(x.key("in flight"))
		x.wait(x.h.Unit)
		x.forget(want.Key, store.ErrInFlight)
		x.left(want.Key, want.LeaseLeft, want.from, want.to)
		x.attempt(x.request(want.Key, want.Token), want.Attempt)
		x.complete(want.Key, want.Token, long, store.Completed)
	},
}, {
	Name:  "there is nothing to forget where there is no record, or only an expired one",
	Why:   "whoever mistypes a key would believe that it is cleared",
	needs: forgetter,
	run: func(x *trial) {
		x.forget(x.key("absent"), store.ErrNoRecord)
		for _, k := range x.expired() {
			x.forget(k, store.ErrNoRecord)
		}
		k := x.consumed(x.key("twice")).Key
		x.forget(k, nil)
		x.forget(k, store.ErrNoRecord)
	},
}, {
	Name:     "of many concurrent claims beside a forget exactly one is granted",
	Sentence: 1,
	Why:      "forgetting a lapsed key at the moment of its take-over would let the next copy run beside it",
	needs:    forgetter,
	run: func(x *trial) {
		for i := range raceKeys {
			x.claimed(x.lapsing(x.numbered(i), store.NewToken()))
		}
		x.wait(2 * x.h.Unit)
		for i := range raceKeys {
			x.raceBesideForget(x.numbered(i))
		}
	},
}, {
	Name:     "forget touches no other key's record",
	Sentence: 8,
	Why:      "clearing one key away would make others run again",
	needs:    forgetter,
	run: func(x *trial) {
		k := x.consumed(x.key("a")).Key
		others := []store.Key{x.key("A"), x.key("a "), x.key("a:"), x.key("%"), x.key("*"), x.key("ab")}
		for _, change := range []func(*store.Key){
			func(k *store.Key) { k.Application += "2" },
			func(k *store.Key) { k.Topic = "refunds" },
			func(k *store.Key) { k.Tag = "" },
		} {
			other := k
			change(&other)
			others = append(others, other)
		}
		for _, other := range others {
			x.consumed(other)
		}
		x.forget(x.key("*"), nil)
		x.forget(k, nil)
		for _, other := range others {
			if other != x.key("*") {
				x.answers(x.request(other, store.NewToken()), store.Done)
			}
		}
	},
}, {
	Name:     "forget refuses an invalid key",
	Sentence: 7,
	Why:      "a mistake of the caller's would look like a key without a record",
	needs:    forgetter,
	run: func(x *trial) {
		for what, k := range invalidKeys(x.key("invalid")) {
			x.wantError("forget with "+what, x.store.(store.Forgetter).Forget(x.ctx, k), store.ErrInvalid)
		}
	},
}}

// forget wants the error want, or none when want is nil.
func (x *trial) forget(k store.Key, want error) {
	if x.err == nil {
		x.wantError("forget", x.store.(store.Forgetter).Forget(x.ctx, k), want)
	}
}

// raceBesideForget claims k from many goroutines while another one forgets it,
// and wants one grant, which nobody takes away.
func (x *trial) raceBesideForget(k store.Key) {
	if x.err != nil {
		return
	}
	var forgetting sync.WaitGroup
	var err error
	forgetting.Go(func() { err = x.store.(store.Forgetter).Forget(x.ctx, k) })
	x.wait(x.pause() / 100) // so that the forget has begun, or has ended
	x.race(k)
	forgetting.Wait()
	if err != nil {
		x.wantError("forget beside claims", err, store.ErrInFlight)
	}
	x.answers(x.request(k, store.NewToken()), store.Busy)
}
