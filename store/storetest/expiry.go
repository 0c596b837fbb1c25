package storetest

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var expiryCases = []Case{{
	Name:     "every step leaves a record with an expiry",
	Sentence: 7,
	Why:      "a record without one blocks its key, and takes up memory, for ever",
	needs:    hasExpiry,
	run: func(x *trial) {
		x.eachStep(func(k store.Key, step func()) {
			step()
			x.expires(k)
		})
	},
}, {
	Name:     "the next step after a record lost its expiry gives it one",
	Sentence: 7,
	Why:      "a PERSIST, or a restore without expiries, would block keys for ever",
	needs:    hasExpiry | persist,
	run: func(x *trial) {
		x.eachStep(func(k store.Key, step func()) {
			x.plant("Persist", x.h.Persist, k)
			step()
			x.expires(k)
		})
	},
}, {
	Name:     "a claim in flight that lost its expiry is busy for its lease and then lapses",
	Sentence: 7,
	Why:      "the key would be blocked for ever if nobody but its dead owner could mend it",
	needs:    hasExpiry | persist,
	run: func(x *trial) {
		k := x.key("in flight")
		x.claimed(x.lapsing(k, store.NewToken()))
		x.plant("Persist", x.h.Persist, k)
		from := time.Now()
		v := x.answers(x.request(k, store.NewToken()), store.Busy)
		if !v.Rearmed || v.Left <= 0 || v.Left > x.h.Unit {
			x.failf("claim: got %+v, want Rearmed and the lease of %v left", v, x.h.Unit)
		}
		x.expires(k)
		x.takeOver(x.request(k, store.NewToken()))
		x.notBefore(from, x.h.Unit)
	},
}, {
	Name:     "a done key that lost its expiry stays done, and the next complete gives it one",
	Sentence: 7,
	Why:      "it must neither run again nor be kept for ever",
	needs:    hasExpiry | persist,
	run: func(x *trial) {
		k, a := x.key("done"), store.NewToken()
		x.claimed(x.request(k, a))
		x.complete(k, a, long, store.Completed)
		x.plant("Persist", x.h.Persist, k)
		x.answers(x.request(k, store.NewToken()), store.Done)
		x.complete(k, store.NewToken(), long, store.AlreadyDone)
		x.expires(k)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:     "a parked key that lost its expiry stays parked and is given one",
	Sentence: 7,
	Why:      "it must neither run again nor be kept for ever",
	needs:    hasExpiry | persist,
	run: func(x *trial) {
		k := x.key("parked")
		x.parked(k, store.NewToken(), long)
		x.plant("Persist", x.h.Persist, k)
		if v := x.answers(x.request(k, store.NewToken()), store.Parked); !v.Rearmed {
			x.failf("claim: got %+v, want Rearmed", v)
		}
		x.expires(k)
	},
}, {
	Name:  "a record that cannot be understood is corrupt and left alone",
	Why:   "it may be another version's done: running it or writing over it destroys the only trace",
	needs: corrupt,
	run: func(x *trial) {
		k, a := x.key("corrupt"), store.NewToken()
		x.claimed(x.request(k, a))
		x.plant("Corrupt", x.h.Corrupt, k)
		x.answers(x.request(k, store.NewToken()), store.Corrupt)
		x.answers(x.request(k, a), store.Corrupt)
		x.release(k, a, true, store.ErrNotOwner)
		x.answers(x.request(k, store.NewToken()), store.Corrupt)
	},
}, {
	Name:  "completing a record that cannot be understood repairs it",
	Why:   "the effect happened; refusing to record it can only cause one more run",
	needs: corrupt,
	run: func(x *trial) {
		k, a := x.key("repaired"), store.NewToken()
		x.claimed(x.request(k, a))
		x.plant("Corrupt", x.h.Corrupt, k)
		x.complete(k, a, long, store.Repaired)
		x.answers(x.request(k, store.NewToken()), store.Done)
	},
}, {
	Name:  "a value of a foreign type is corrupt and left alone",
	Why:   "it belongs to somebody else: an outage would be retried for ever, an overwrite would destroy it",
	needs: wrongType,
	run: func(x *trial) {
		k, a := x.key("type"), store.NewToken()
		x.claimed(x.request(k, a))
		x.plant("WrongType", x.h.WrongType, k)
		x.answers(x.request(k, store.NewToken()), store.Corrupt)
		if x.err == nil {
			_, err := x.store.Complete(x.ctx, k, a, long)
			if got := store.ClassOf(err); err == nil || got != store.Permanent {
				x.failf("complete on a foreign type: got %v (%v), want a permanent error", err, got)
			}
		}
		x.answers(x.request(k, a), store.Corrupt)
	},
}}

// eachStep calls do with every step that writes a record, each on a live claim
// of a key of its own.
func (x *trial) eachStep(do func(k store.Key, step func())) {
	a := store.NewToken()
	steps := map[string]func(store.Key){
		"claim again":       func(k store.Key) { x.claimed(x.request(k, a)) },
		"complete":          func(k store.Key) { x.complete(k, a, long, store.Completed) },
		"complete by other": func(k store.Key) { x.complete(k, store.NewToken(), long, store.Late) },
		"release":           func(k store.Key) { x.release(k, a, true, nil) },
		"claim beyond the limit": func(k store.Key) {
			x.release(k, a, true, nil)
			x.answers(limited(x.request(k, store.NewToken()), 1, long), store.Parked)
		},
	}
	if _, ok := x.store.(store.Renewer); ok {
		steps["renew"] = func(k store.Key) { x.renew(k, a, nil) }
	}
	if _, ok := x.store.(store.Parker); ok {
		steps["park"] = func(k store.Key) { x.park(k, a, long, nil) }
	}
	if _, ok := x.store.(store.Fencer); ok {
		steps["fence"] = func(k store.Key) { x.fence(k, a) }
	}
	for name, step := range steps {
		k := x.key(name)
		x.claimed(x.request(k, a))
		do(k, func() { step(k) })
	}
}

// expires wants the record of k to be there and to have an expiry.
func (x *trial) expires(k store.Key) {
	if x.err != nil {
		return
	}
	ok, err := x.h.HasExpiry(x.ctx, x.store, k)
	if !x.failed("Harness.HasExpiry", err) && !ok {
		x.failf("the record of %q has no expiry", k.ID)
	}
}

// plant calls a hook that changes the record of k behind the store's back.
func (x *trial) plant(name string, hook func(context.Context, store.Store, store.Key) error, k store.Key) {
	if x.err == nil {
		x.failed("Harness."+name, hook(x.ctx, x.store, k))
	}
}
