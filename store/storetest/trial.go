package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// long is a duration that never ends during a case. What must still hold at the
// next step is given it, so that a slow machine cannot fail a right store.
const long = 24 * time.Hour

// trial is one run of one case. After the first violation every further step
// does nothing, so a case is a plain list of steps. It is not safe for
// concurrent use; cases with goroutines call the store directly.
type trial struct {
	t     testing.TB
	h     Harness
	store store.Store
	ctx   context.Context
	app   string
	err   error
}

func newTrial(t testing.TB, h Harness, s store.Store) (*trial, context.CancelFunc) {
	patience := 2 * time.Minute
	if h.FakeTime {
		patience = long
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	return &trial{t: t, h: h, store: s, ctx: ctx, app: "storetest-" + store.NewToken().String()}, cancel
}

func (x *trial) failf(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
}

// failedAt adds the key to a violation that has just been recorded.
func (x *trial) failedAt(k store.Key) { x.err = fmt.Errorf("key %.200q: %w", k, x.err) }

// failed records an unexpected error of the step and tells whether to go on.
func (x *trial) failed(step string, err error) bool {
	if err != nil {
		x.failf("%s: got error %w", step, err)
	}
	return x.err != nil
}

func (x *trial) key(id string) store.Key {
	return store.Key{Application: x.app, Topic: "orders", Tag: "paid", ID: id}
}

// request is a claim that neither lapses nor is forgotten during the case.
func (x *trial) request(k store.Key, t store.Token) store.ClaimRequest {
	return store.ClaimRequest{Key: k, Token: t, Lease: long, Horizon: long}
}

// lapsing is a claim whose lease ends after one unit and which is remembered.
func (x *trial) lapsing(k store.Key, t store.Token) store.ClaimRequest {
	return store.ClaimRequest{Key: k, Token: t, Lease: x.h.Unit, Horizon: long}
}

// limited is r with a limit of attempts.
func limited(r store.ClaimRequest, attempts int, keep time.Duration) store.ClaimRequest {
	r.MaxAttempts, r.ParkKeep = attempts, keep
	return r
}

// slack is what rounding and the ticks of a server's clock may add or take.
func (x *trial) slack() time.Duration { return x.h.Unit / 5 }

// wait lets at least d pass.
func (x *trial) wait(d time.Duration) {
	if x.err == nil {
		time.Sleep(d)
	}
}

func (x *trial) claim(r store.ClaimRequest) store.Verdict {
	if x.err != nil {
		return store.Verdict{}
	}
	v, err := x.store.Claim(x.ctx, r)
	x.failed("claim", err)
	return v
}

// claimed claims and wants the grant.
func (x *trial) claimed(r store.ClaimRequest) { x.answers(r, store.Claimed) }

// attempt claims and wants the grant to be the given attempt.
func (x *trial) attempt(r store.ClaimRequest, want int) {
	if v := x.answers(r, store.Claimed); v.Attempt != want {
		x.failf("claim: got attempt %d, want attempt %d", v.Attempt, want)
	}
}

// answers claims and wants the given state.
func (x *trial) answers(r store.ClaimRequest, want store.State) store.Verdict {
	v := x.claim(r)
	if v.State != want {
		x.failf("claim: got %v, want %v", v.State, want)
	}
	return v
}

// refused claims and wants ErrNotOwner and no verdict.
func (x *trial) refused(r store.ClaimRequest) {
	if x.err != nil {
		return
	}
	v, err := x.store.Claim(x.ctx, r)
	x.wantError("claim", err, store.ErrNotOwner)
	if v.State != 0 {
		x.failf("claim: got %v beside an error, want no state", v.State)
	}
}

// next repeats the claim while it is answered with the given state, and returns
// the first other answer.
func (x *trial) next(r store.ClaimRequest, while store.State) store.Verdict {
	limit := time.Now().Add(20*x.h.Unit + 10*time.Second)
	for {
		v := x.claim(r)
		if x.err != nil || v.State != while {
			return v
		}
		if time.Now().After(limit) {
			x.failf("claim: still %v long after that must have ended", v.State)
			return v
		}
		x.wait(x.h.Unit / 5)
	}
}

// claimedAfter claims until the key is not in the given state any more, and
// wants the grant then. That is how a case waits for a term to end.
func (x *trial) claimedAfter(while store.State, r store.ClaimRequest) {
	if v := x.next(r, while); v.State != store.Claimed {
		x.failf("claim after %v: got %v, want claimed", while, v.State)
	}
}

// takeOver waits for the lease of another owner to end and claims the key.
func (x *trial) takeOver(r store.ClaimRequest) { x.claimedAfter(store.Busy, r) }

func (x *trial) complete(k store.Key, t store.Token, keep time.Duration, want store.Completion) {
	if x.err != nil {
		return
	}
	got, err := x.store.Complete(x.ctx, k, t, keep)
	if !x.failed("complete", err) && got != want {
		x.failf("complete: got %v, want %v", got, want)
	}
}

// completeLate completes when the first completion may just have ended: what it
// finds depends on the speed of the machine.
func (x *trial) completeLate(k store.Key, t store.Token, keep time.Duration) {
	if x.err == nil {
		_, err := x.store.Complete(x.ctx, k, t, keep)
		x.failed("second complete", err)
	}
}

// release wants the error want, or none when want is nil.
func (x *trial) release(k store.Key, t store.Token, ran bool, want error) {
	if x.err == nil {
		x.wantError("release", x.store.Release(x.ctx, k, t, ran), want)
	}
}

func (x *trial) park(k store.Key, t store.Token, keep time.Duration, want error) {
	if x.err == nil {
		x.wantError("park", x.store.(store.Parker).Park(x.ctx, k, t, keep), want)
	}
}

func (x *trial) renew(k store.Key, t store.Token, want error) {
	x.renewAll([]store.Claim{{Key: k, Token: t}}, want)
}

// renewAll renews the claims in one call and wants one error or nil for each.
func (x *trial) renewAll(claims []store.Claim, want ...error) {
	if x.err != nil {
		return
	}
	got := x.store.(store.Renewer).Renew(x.ctx, claims)
	if len(got) != len(want) {
		x.failf("renew: got %d results for %d claims", len(got), len(claims))
		return
	}
	for i := range got {
		x.wantError(fmt.Sprintf("renew, claim %d of %d", i+1, len(got)), got[i], want[i])
	}
}

// fence draws a number for the owner.
func (x *trial) fence(k store.Key, t store.Token) int64 {
	if x.err != nil {
		return 0
	}
	n, err := x.store.(store.Fencer).Fence(x.ctx, k, t)
	x.failed("fence", err)
	return n
}

// wantError wants err to be want in the sense of errors.Is, or nil.
func (x *trial) wantError(step string, err, want error) {
	if !errors.Is(err, want) {
		x.failf("%s: got error %v, want %v", step, err, want)
	}
}
