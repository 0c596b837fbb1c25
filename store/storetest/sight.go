package storetest

import (
	"reflect"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// sight is a record as it must look to who reads it. Its times are those at the
// moment of the step that made it, which ran between from and to.
type sight struct {
	store.Record
	from, to time.Time
}

// made takes a step and returns what must be seen of it.
func (x *trial) made(r store.Record, step func()) sight {
	from := time.Now()
	step()
	return sight{r, from, time.Now()}
}

// consuming makes a record whose second attempt is running.
func (x *trial) consuming(k store.Key) sight {
	a, b := store.NewToken(), store.NewToken()
	x.claimed(x.request(k, a))
	x.release(k, a, true, nil)
	r := store.ClaimRequest{Key: k, Token: b, Lease: long, Horizon: 2 * long}
	return x.made(store.Record{
		Key: k, Status: store.StatusConsuming, Token: b, Attempt: 2, Lease: long, Horizon: 2 * long,
		LeaseLeft: long, ExpiresIn: 3 * long,
	}, func() { x.claimed(r) })
}

// lapsed makes a record whose lease has ended when the case has waited for it.
func (x *trial) lapsed(k store.Key) sight {
	a := store.NewToken()
	return x.made(store.Record{
		Key: k, Status: store.StatusLapsed, Token: a, Attempt: 1, Lease: x.h.Unit, Horizon: long,
		LeaseLeft: x.h.Unit, ExpiresIn: x.h.Unit + long,
	}, func() { x.claimed(x.lapsing(k, a)) })
}

// released makes a record that its owner released.
func (x *trial) released(k store.Key, ran bool) sight {
	a, attempts := store.NewToken(), 0
	if ran {
		attempts = 1
	}
	r := store.ClaimRequest{Key: k, Token: a, Lease: long, Horizon: 2 * long}
	x.claimed(r)
	return x.made(store.Record{
		Key: k, Status: store.StatusLapsed, Token: a, Attempt: attempts, Lease: long, Horizon: 2 * long,
		ExpiresIn: 2 * long,
	}, func() { x.release(k, a, ran, nil) })
}

// consumed makes a record that is done.
func (x *trial) consumed(k store.Key) sight {
	a := store.NewToken()
	x.claimed(x.request(k, a))
	return x.made(store.Record{
		Key: k, Status: store.StatusConsumed, Token: a, Attempt: 1, ExpiresIn: 3 * long,
	}, func() { x.complete(k, a, 3*long, store.Completed) })
}

// poison makes a record that a claim parked, because its attempts were used up.
func (x *trial) poison(k store.Key) sight {
	a := store.NewToken()
	return x.made(store.Record{
		Key: k, Status: store.StatusParked, Token: a, Attempt: 1, ExpiresIn: long,
	}, func() { x.parked(k, a, long) })
}

// gallery makes a record of every kind, and waits for the one that lapses.
func (x *trial) gallery() []sight {
	lapsed := x.lapsed(x.key("lapsed"))
	all := []sight{
		lapsed, x.consuming(x.key("consuming")), x.released(x.key("ran"), true), x.released(x.key("not run"), false),
		x.consumed(x.key("consumed")), x.poison(x.key("parked")),
	}
	if x.h.Corrupt != nil {
		k := x.key("corrupt")
		x.claimed(x.request(k, store.NewToken()))
		all = append(all, x.made(store.Record{Key: k, Status: store.StatusCorrupt}, func() {
			x.plant("Corrupt", x.h.Corrupt, k)
		}))
	}
	x.wait(2 * x.h.Unit)
	return all
}

// like wants got, which was asked for at sent, to be what must be seen. Of a
// record that is no claim, the store need not know who had it.
func (x *trial) like(step string, got store.Record, want sight, sent time.Time) {
	if got.Key != want.Key || got.Hashed != want.Hashed || got.Status != want.Status {
		x.failf("%s: got %v of key %.100q (hashed %v), want %v of key %.100q (hashed %v)",
			step, got.Status, got.Key, got.Hashed, want.Status, want.Key, want.Hashed)
	}
	if want.Status == store.StatusCorrupt {
		return
	}
	claim := want.Status == store.StatusConsuming || want.Status == store.StatusLapsed
	for _, field := range []struct {
		name      string
		got, want any
		optional  bool
	}{
		{"Token", got.Token, want.Token, !claim},
		{"Attempt", got.Attempt, want.Attempt, !claim},
		{"Lease", got.Lease, want.Lease, want.Status == store.StatusLapsed},
		{"Horizon", got.Horizon, want.Horizon, false},
		{"Fence", got.Fence, want.Fence, !claim},
	} {
		if field.got != field.want && !(field.optional && reflect.ValueOf(field.got).IsZero()) {
			x.failf("%s: got %s %v of key %.100q, %v; want %v",
				step, field.name, field.got, got.Key, got.Status, field.want)
		}
	}
	x.near(step+": ExpiresIn", got.ExpiresIn, want.ExpiresIn, want, sent)
	switch {
	case claim:
		x.near(step+": LeaseLeft", got.LeaseLeft, want.LeaseLeft, want, sent)
	case got.LeaseLeft != 0:
		x.failf("%s: got LeaseLeft %v of a record that is no claim, want 0", step, got.LeaseLeft)
	}
}

// near wants got to be what is left now of a term that the step of want began.
func (x *trial) near(what string, got, term time.Duration, want sight, sent time.Time) {
	least, most := term-time.Since(want.from)-x.slack(), term-sent.Sub(want.to)+x.slack()
	if got < least || got > most {
		x.failf("%s: got %v, want %v to %v", what, got, least, most)
	}
}
