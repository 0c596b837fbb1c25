package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var getCases = []Case{{
	Name:  "get shows a claim in flight with its owner, attempt and terms",
	Why:   "whoever asks why a message does not run would be told the wrong process, or to wait too long",
	needs: getter,
	run:   func(x *trial) { x.shows(x.consuming(x.key("consuming"))) },
}, {
	Name:  "get shows a claim whose lease has ended as lapsed, and since when",
	Why:   "a crash would look like work in progress",
	needs: getter,
	run: func(x *trial) {
		want := x.lapsed(x.key("lapsed"))
		x.wait(2 * x.h.Unit)
		x.shows(want)
	},
}, {
	Name:  "get shows a released claim as lapsed, and since when",
	Why:   "a message that waits for its retry would look like work in progress, or like one that never ran",
	needs: getter,
	run: func(x *trial) {
		ran, not := x.released(x.key("ran"), true), x.released(x.key("not run"), false)
		x.wait(x.h.Unit)
		x.shows(ran)
		x.shows(not)
	},
}, {
	Name:  "get shows a completed key as consumed and until when",
	Why:   "nobody could tell whether a message was skipped because its effect is there",
	needs: getter,
	run:   func(x *trial) { x.shows(x.consumed(x.key("consumed"))) },
}, {
	Name:  "get shows what a claim parked and until when",
	Why:   "a message that was set aside could not be told from one that nobody sent",
	needs: getter,
	run:   func(x *trial) { x.shows(x.poison(x.key("poison"))) },
}, {
	Name:  "get shows what its owner parked and until when",
	Why:   "a message that was set aside could not be told from one that nobody sent",
	needs: getter | parker,
	run: func(x *trial) {
		k, a := x.key("parked"), store.NewToken()
		x.claimed(x.request(k, a))
		x.shows(x.made(store.Record{
			Key: k, Status: store.StatusParked, Token: a, Attempt: 1, ExpiresIn: 3 * long,
		}, func() { x.park(k, a, 3*long, nil) }))
	},
}, {
	Name:  "get shows a record that cannot be understood as corrupt",
	Why:   "the one record that somebody must look at would be shown as something harmless, or not at all",
	needs: getter | corrupt,
	run: func(x *trial) {
		k := x.key("corrupt")
		x.claimed(x.request(k, store.NewToken()))
		x.plant("Corrupt", x.h.Corrupt, k)
		x.shows(x.made(store.Record{Key: k, Status: store.StatusCorrupt}, func() {}))
	},
}, {
	Name:  "get shows the fence that was drawn last",
	Why:   "a resource that refuses an owner could not be compared with the record",
	needs: getter | fencer,
	run: func(x *trial) {
		want := x.consuming(x.key("fence"))
		x.fence(want.Key, want.Token)
		want.Fence = x.fence(want.Key, want.Token)
		x.shows(want)
	},
}, {
	Name:  "get finds no record where there is none, or only an expired one",
	Why:   "what counts as absent would be shown as the reason why a message does not run",
	needs: getter,
	run: func(x *trial) {
		x.showsNothing(x.key("absent"))
		keys := x.expired()
		for _, k := range keys {
			x.showsNothing(k)
			x.showsNothing(k)
		}
		for _, k := range append(keys, x.key("absent")) {
			x.attempt(x.request(k, store.NewToken()), 1)
		}
	},
}, {
	Name:  "get changes nothing",
	Why:   "a record would live for as long as somebody looks at it, or a claim be lost to a glance",
	needs: getter,
	run: func(x *trial) {
		all := x.gallery()
		for range 2 {
			for _, want := range all {
				x.shows(want)
			}
			x.wait(x.h.Unit)
		}
		for _, want := range all {
			x.judges(want)
		}
	},
}, {
	Name:     "get shows every key byte for byte, and of long parts the digest",
	Sentence: 8,
	Why:      "a key that is shown garbled can be neither found in the business data nor given to another call",
	needs:    getter,
	run: func(x *trial) {
		for _, k := range x.hostileKeys() {
			want := x.consumed(k)
			want.Key, want.Hashed = x.shown(k)
			if x.showsFor(k, want); x.err != nil {
				x.failedAt(k)
				return
			}
		}
	},
}, {
	Name:     "get refuses an invalid key",
	Sentence: 7,
	Why:      "a mistake of the caller's would look like a key without a record",
	needs:    getter,
	run: func(x *trial) {
		for what, k := range invalidKeys(x.key("invalid")) {
			_, err := x.store.(store.Getter).Get(x.ctx, k)
			x.wantError("get with "+what, err, store.ErrInvalid)
		}
	},
}}

func (x *trial) shows(want sight) { x.showsFor(want.Key, want) }

// showsFor gets the record of k and wants it to be what must be seen.
func (x *trial) showsFor(k store.Key, want sight) {
	if x.err != nil {
		return
	}
	sent := time.Now()
	got, err := x.store.(store.Getter).Get(x.ctx, k)
	if !x.failed("get", err) {
		x.like("get", got, want, sent)
	}
}

func (x *trial) showsNothing(k store.Key) {
	if x.err != nil {
		return
	}
	got, err := x.store.(store.Getter).Get(x.ctx, k)
	x.wantError("get", err, store.ErrNoRecord)
	if got.Status != 0 {
		x.failf("get: got status %v beside an error, want none", got.Status)
	}
}

// judges wants the answer of a claim to be that of the record which was made.
func (x *trial) judges(want sight) {
	r := x.request(want.Key, store.NewToken())
	switch want.Status {
	case store.StatusConsuming:
		x.left(want.Key, want.LeaseLeft, want.from, want.to)
	case store.StatusLapsed:
		x.attempt(r, want.Attempt+1)
	case store.StatusConsumed:
		x.answers(r, store.Done)
	case store.StatusParked:
		x.answers(r, store.Parked)
	case store.StatusCorrupt:
		x.answers(r, store.Corrupt)
	}
}

// expired makes a record of each kind that counts as absent when it returns,
// the longest expired first.
func (x *trial) expired() []store.Key {
	done, a := x.key("was done"), store.NewToken()
	x.claimed(x.request(done, a))
	x.complete(done, a, x.h.Unit, store.Completed)
	parked := x.key("was parked")
	x.parked(parked, store.NewToken(), x.h.Unit)
	released, lapsed := x.request(x.key("was released"), a), x.lapsing(x.key("was lapsed"), a)
	released.Horizon, lapsed.Horizon = x.h.Unit, x.h.Unit
	x.claimed(released)
	x.release(released.Key, a, true, nil)
	x.claimed(lapsed)
	x.wait(3 * x.h.Unit)
	return []store.Key{done, parked, released.Key, lapsed.Key}
}
