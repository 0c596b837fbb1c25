package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var failureCases = []Case{{
	Name:     "a call whose context has ended is an error and no verdict",
	Sentence: 9,
	Why:      "a verdict nobody waited for would start a callback that nobody owns",
	run: func(x *trial) {
		ctx, cancel := context.WithCancel(x.ctx)
		cancel()
		k, a := x.key("ended"), store.NewToken()
		x.claimed(x.request(k, a))
		x.everyCallFails(ctx, x.store, k, a)
	},
}, {
	Name:     "a call returns within its deadline when the server is silent",
	Sentence: 9,
	Why:      "a server that takes calls and never answers would hold every worker of the consumer",
	needs:    silent,
	run: func(x *trial) {
		s, began := x.h.Silent(x.t), time.Now()
		ctx, cancel := context.WithTimeout(x.ctx, 4*x.h.Unit)
		defer cancel()
		x.everyCallFails(ctx, s, x.key("silent"), store.NewToken())
		if passed, most := time.Since(began), 4*x.h.Unit+5*time.Second; passed > most {
			x.failf("calls with a deadline of %v took %v", 4*x.h.Unit, passed)
		}
	},
}, {
	Name:     "an invalid claim is refused and leaves no record",
	Sentence: 7,
	Why:      "a mistaken setting would show up as lost or doubled messages instead of an error",
	run: func(x *trial) {
		for name, spoil := range invalidClaims() {
			k := x.key(name)
			r := x.request(k, store.NewToken())
			spoil(&r)
			v, err := x.store.Claim(x.ctx, r)
			x.wantError("claim with "+name, err, store.ErrInvalid)
			if v.State != 0 {
				x.failf("claim with %s: got %v beside an error, want no state", name, v.State)
			}
			x.attempt(x.request(k, store.NewToken()), 1)
		}
	},
}, {
	Name:     "an invalid complete, release, park, renewal or fence is refused and touches no record",
	Sentence: 7,
	Why:      "a keep of zero would erase a record, or keep it for ever",
	run: func(x *trial) {
		k, a := x.key("held"), store.NewToken()
		x.claimed(x.request(k, a))
		for _, keep := range invalidDurations {
			_, err := x.store.Complete(x.ctx, k, a, keep)
			x.wantError(fmt.Sprintf("complete with keep %v", keep), err, store.ErrInvalid)
			if p, ok := x.store.(store.Parker); ok {
				x.wantError(fmt.Sprintf("park with keep %v", keep), p.Park(x.ctx, k, a, keep), store.ErrInvalid)
			}
		}
		for name, part := range invalidKeys(k) {
			x.refusesInvalid(name, part, a)
		}
		x.refusesInvalid("a zero token", k, store.Token{})
		x.answers(x.request(k, store.NewToken()), store.Busy)
		x.claimed(x.request(k, a))
	},
}}

var invalidDurations = []time.Duration{0, -1, -time.Hour, store.MinDuration - 1, store.MaxDuration + 1}

func invalidClaims() map[string]func(*store.ClaimRequest) {
	claims := map[string]func(*store.ClaimRequest){
		"no application":       func(r *store.ClaimRequest) { r.Key.Application = "" },
		"no topic":             func(r *store.ClaimRequest) { r.Key.Topic = "" },
		"no id":                func(r *store.ClaimRequest) { r.Key.ID = "" },
		"a zero token":         func(r *store.ClaimRequest) { r.Token = store.Token{} },
		"negative MaxAttempts": func(r *store.ClaimRequest) { r.MaxAttempts = -1 },
	}
	for _, d := range invalidDurations {
		claims[fmt.Sprintf("lease %v", d)] = func(r *store.ClaimRequest) { r.Lease = d }
		claims[fmt.Sprintf("horizon %v", d)] = func(r *store.ClaimRequest) { r.Horizon = d }
		claims[fmt.Sprintf("park keep %v", d)] = func(r *store.ClaimRequest) { r.MaxAttempts, r.ParkKeep = 1, d }
	}
	return claims
}

// refusesInvalid wants ErrInvalid from every call that takes a key and a token.
func (x *trial) refusesInvalid(what string, k store.Key, t store.Token) {
	_, err := x.store.Complete(x.ctx, k, t, long)
	x.wantError("complete with "+what, err, store.ErrInvalid)
	x.wantError("release with "+what, x.store.Release(x.ctx, k, t, true), store.ErrInvalid)
	if p, ok := x.store.(store.Parker); ok {
		x.wantError("park with "+what, p.Park(x.ctx, k, t, long), store.ErrInvalid)
	}
	if f, ok := x.store.(store.Fencer); ok {
		_, err := f.Fence(x.ctx, k, t)
		x.wantError("fence with "+what, err, store.ErrInvalid)
	}
	if _, ok := x.store.(store.Renewer); ok {
		x.renew(k, t, store.ErrInvalid)
	}
}

// everyCallFails wants an error of a class that permits a repeat, and no
// verdict, from every call.
func (x *trial) everyCallFails(ctx context.Context, s store.Store, k store.Key, t store.Token) {
	v, err := s.Claim(ctx, x.request(k, store.NewToken()))
	x.fails("claim", err)
	c, err := s.Complete(ctx, k, t, long)
	x.fails("complete", err)
	if v.State != 0 || c != 0 {
		x.failf("got %v and %v beside an error, want no verdict", v.State, c)
	}
	x.fails("release", s.Release(ctx, k, t, true))
	if p, ok := s.(store.Parker); ok {
		x.fails("park", p.Park(ctx, k, t, long))
	}
	if f, ok := s.(store.Fencer); ok {
		_, err := f.Fence(ctx, k, t)
		x.fails("fence", err)
	}
	if r, ok := s.(store.Renewer); ok {
		for _, err := range r.Renew(ctx, []store.Claim{{Key: k, Token: t}}) {
			x.fails("renew", err)
		}
	}
	if b, ok := s.(store.Batcher); ok {
		x.everyBatchFails(ctx, b, k, t)
	}
	x.everyLookFails(ctx, s, k)
	if p, ok := s.(store.Pulser); ok {
		beats, err := p.Pulse(ctx, store.Pulse{Application: k.Application, Node: t, Number: 1})
		x.fails("pulse", err)
		if len(beats) > 0 {
			x.failf("pulse: got %v beside an error, want no beat", beats)
		}
	}
}

// everyLookFails is everyCallFails for what people and tools call.
func (x *trial) everyLookFails(ctx context.Context, s store.Store, k store.Key) {
	if g, ok := s.(store.Getter); ok {
		_, err := g.Get(ctx, k)
		x.fails("get", err)
	}
	if f, ok := s.(store.Forgetter); ok {
		x.fails("forget", f.Forget(ctx, k))
	}
	if c, ok := s.(store.Scanner); ok {
		_, err := c.Scan(ctx, store.Query{Application: k.Application, Limit: 1})
		x.fails("scan", err)
	}
	if w, ok := s.(store.Sweeper); ok {
		_, err := w.Sweep(ctx, 1)
		x.fails("sweep", err)
	}
}

func (x *trial) everyBatchFails(ctx context.Context, s store.Batcher, k store.Key, t store.Token) {
	held := store.Claim{Key: k, Token: t}
	claims := s.ClaimBatch(ctx, []store.ClaimRequest{x.request(k, store.NewToken()), x.request(k, t)})
	settled := s.SettleBatch(ctx, []store.Settlement{{Claim: held, Keep: long}, {Claim: held}})
	if len(claims) != 2 || len(settled) != 2 {
		x.failf("batches of 2: got %d and %d answers", len(claims), len(settled))
	}
	for _, got := range claims {
		x.fails("claim in a batch", got.Err)
		if got.Verdict.State != 0 {
			x.failf("claim in a batch: got %v beside an error, want no verdict", got.Verdict.State)
		}
	}
	for _, got := range settled {
		x.fails("settlement in a batch", got.Err)
		if got.Completion != 0 {
			x.failf("settlement in a batch: got %v beside an error, want no completion", got.Completion)
		}
	}
}

func (x *trial) fails(step string, err error) {
	switch {
	case err == nil:
		x.failf("%s: got no error, want one", step)
	case store.ClassOf(err) == store.Permanent:
		x.failf("%s: got %v, which is permanent; want a class that permits a repeat", step, err)
	}
}
