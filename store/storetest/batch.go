package storetest

import (
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var batchCases = []Case{{
	Name:     "a batch of claims answers each in its place",
	Sentence: 1,
	Why:      "a message would run, or be skipped, on the answer to another one",
	needs:    batcher,
	run: func(x *trial) {
		a, b, c := store.NewToken(), store.NewToken(), store.NewToken()
		x.claimed(x.request(x.key("busy"), a))
		x.claimed(x.request(x.key("done"), a))
		x.complete(x.key("done"), a, long, store.Completed)
		x.claimed(x.request(x.key("given up"), b))
		x.release(x.key("given up"), b, true, nil)
		got := x.claimAll(
			x.request(x.key("free"), b), x.request(x.key("busy"), b), x.request(x.key("given up"), b),
			x.request(x.key("done"), b), x.request(x.key("also free"), c),
		)
		x.wantAnswers(got, store.Claimed, store.Busy, 0, store.Done, store.Claimed)
		x.wantRefused(got, 2, store.ErrNotOwner)
		x.complete(x.key("free"), b, long, store.Completed)
		x.complete(x.key("also free"), c, long, store.Completed)
		x.wantAnswers(x.claimAll())
	},
}, {
	Name:     "of two claims on one key in a batch the second is busy",
	Sentence: 1,
	Why:      "two copies in one batch would run side by side",
	needs:    batcher,
	run: func(x *trial) {
		k, a, b := x.key("twice"), store.NewToken(), store.NewToken()
		x.wantAnswers(x.claimAll(x.request(k, a), x.request(k, b)), store.Claimed, store.Busy)
		x.complete(k, a, long, store.Completed)
	},
}, {
	Name:     "of many concurrent batches exactly one is granted each key",
	Sentence: 1,
	Why:      "copies of one batch reach two consumers at the same moment after a rebalance",
	needs:    batcher,
	run:      func(x *trial) { x.raceOfBatches() },
}, {
	Name:     "a batch of claims counts attempts and parks beyond the limit",
	Sentence: 1,
	Why:      "a message that always fails would run for ever as long as it comes in batches",
	needs:    batcher,
	run: func(x *trial) {
		first, last := x.key("first"), x.key("last")
		for _, k := range []store.Key{first, last} {
			a := store.NewToken()
			x.claimed(x.request(k, a))
			x.release(k, a, true, nil)
		}
		got := x.claimAll(
			limited(x.request(first, store.NewToken()), 2, long), limited(x.request(last, store.NewToken()), 1, long))
		x.wantAnswers(got, store.Claimed, store.Parked)
		if x.err == nil && got[0].Verdict.Attempt != 2 {
			x.failf("claim in a batch: got attempt %d, want 2", got[0].Verdict.Attempt)
		}
	},
}, {
	Name:     "an invalid claim is refused alone among its batch",
	Sentence: 7,
	Why:      "one message with a mistaken setting would keep all the others from running",
	needs:    batcher,
	run: func(x *trial) {
		k := x.key("invalid")
		r := x.request(k, store.NewToken())
		r.Lease = 0
		got := x.claimAll(x.request(x.key("before"), store.NewToken()), r, x.request(x.key("after"), store.NewToken()))
		x.wantAnswers(got, store.Claimed, 0, store.Claimed)
		x.wantRefused(got, 1, store.ErrInvalid)
		x.claimed(x.request(k, store.NewToken()))
	},
}, {
	Name:     "a batch of settlements answers each in its place",
	Sentence: 5,
	Why:      "a finished message would be taken for one that failed, and the other way round",
	needs:    batcher,
	run: func(x *trial) {
		a, b := store.NewToken(), store.NewToken()
		for _, id := range []string{"ran", "failed", "held", "finished"} {
			x.claimed(x.request(x.key(id), a))
		}
		x.complete(x.key("finished"), a, long, store.Completed)
		got := x.settleAll(
			x.done("ran", a), x.givenBack("held", b, true), x.done("vanished", a),
			x.givenBack("failed", a, true), x.done("finished", b),
		)
		x.wantCompletions(got, store.Completed, 0, store.Recreated, 0, store.AlreadyDone)
		x.wantNotOwner(got, 1)
		for id, want := range map[string]store.State{"ran": store.Done, "held": store.Busy, "vanished": store.Done,
			"failed": store.Claimed, "finished": store.Done} {
			x.answers(x.request(x.key(id), store.NewToken()), want)
		}
		x.wantCompletions(x.settleAll())
	},
}, {
	Name:     "a batch remembers each completion for its own keep",
	Sentence: 4,
	Why:      "a topic with a short memory would shorten that of the others in its batch",
	needs:    batcher,
	run: func(x *trial) {
		a := store.NewToken()
		x.claimed(x.request(x.key("long"), a))
		x.claimed(x.request(x.key("short"), a))
		brief := x.done("short", a)
		brief.Keep = x.h.Unit
		x.wantCompletions(x.settleAll(x.done("long", a), brief), store.Completed, store.Completed)
		x.wait(2 * x.h.Unit)
		x.answers(x.request(x.key("long"), store.NewToken()), store.Done)
		x.claimed(x.request(x.key("short"), store.NewToken()))
	},
}, {
	Name:  "a batch of releases counts the attempts that ran",
	Why:   "deferring a batch without running it would bring its messages closer to being parked",
	needs: batcher,
	run: func(x *trial) {
		a := store.NewToken()
		x.claimed(x.request(x.key("ran"), a))
		x.claimed(x.request(x.key("held"), a))
		x.settleAll(x.givenBack("ran", a, true), x.givenBack("held", a, false))
		x.attempt(x.request(x.key("ran"), store.NewToken()), 2)
		x.attempt(x.request(x.key("held"), store.NewToken()), 1)
	},
}, {
	Name:     "an invalid settlement is refused alone among its batch",
	Sentence: 7,
	Why:      "one mistaken setting would leave a whole batch of finished messages to run again",
	needs:    batcher,
	run: func(x *trial) {
		a := store.NewToken()
		for _, id := range []string{"before", "invalid", "after"} {
			x.claimed(x.request(x.key(id), a))
		}
		invalid := x.done("invalid", a)
		invalid.Keep = store.MinDuration - 1
		got := x.settleAll(x.done("before", a), invalid, x.done("after", a))
		x.wantCompletions(got, store.Completed, 0, store.Completed)
		if x.err == nil {
			x.wantError("an invalid settlement", got[1].Err, store.ErrInvalid)
		}
		x.answers(x.request(x.key("invalid"), store.NewToken()), store.Busy)
	},
}}

// done and givenBack settle a key of the case.
func (x *trial) done(id string, t store.Token) store.Settlement {
	return store.Settlement{Claim: store.Claim{Key: x.key(id), Token: t}, Keep: long}
}

func (x *trial) givenBack(id string, t store.Token, ran bool) store.Settlement {
	return store.Settlement{Claim: store.Claim{Key: x.key(id), Token: t}, Ran: ran}
}

func (x *trial) claimAll(requests ...store.ClaimRequest) []store.ClaimAnswer {
	if x.err != nil {
		return nil
	}
	return x.store.(store.Batcher).ClaimBatch(x.ctx, requests)
}

func (x *trial) settleAll(settlements ...store.Settlement) []store.SettleAnswer {
	if x.err != nil {
		return nil
	}
	return x.store.(store.Batcher).SettleBatch(x.ctx, settlements)
}

// wantAnswers wants these states in this order; 0 is a claim that fails.
func (x *trial) wantAnswers(got []store.ClaimAnswer, want ...store.State) {
	if x.err == nil && len(got) != len(want) {
		x.failf("a batch of %d claims: got %d answers", len(want), len(got))
	}
	for i := 0; x.err == nil && i < len(want); i++ {
		if state := got[i].Verdict.State; state != want[i] || (got[i].Err != nil) != (want[i] == 0) {
			x.failf("claim %d of %d in a batch: got %v, %v, want %v", i+1, len(want), state, got[i].Err, want[i])
		}
	}
}

func (x *trial) wantRefused(got []store.ClaimAnswer, i int, want error) {
	if x.err == nil {
		x.wantError("claim in a batch", got[i].Err, want)
	}
}

// wantCompletions wants these completions in this order; 0 is a release, or a
// settlement that fails.
func (x *trial) wantCompletions(got []store.SettleAnswer, want ...store.Completion) {
	if x.err == nil && len(got) != len(want) {
		x.failf("a batch of %d settlements: got %d answers", len(want), len(got))
	}
	for i := 0; x.err == nil && i < len(want); i++ {
		if c := got[i].Completion; c != want[i] || c != 0 && got[i].Err != nil {
			x.failf("settlement %d of %d in a batch: got %v, %v, want %v", i+1, len(want), c, got[i].Err, want[i])
		}
	}
}

// wantNotOwner wants release i to be refused, and all others to have succeeded.
func (x *trial) wantNotOwner(got []store.SettleAnswer, i int) {
	for j := 0; x.err == nil && j < len(got); j++ {
		want := error(nil)
		if j == i {
			want = store.ErrNotOwner
		}
		x.wantError("settlement in a batch", got[j].Err, want)
	}
}

// raceOfBatches claims the same keys in many batches at once and wants each key
// to be granted to one of them, and to be Busy for all others.
func (x *trial) raceOfBatches() {
	var (
		answers [contenders][]store.ClaimAnswer
		start   = make(chan struct{})
		ended   sync.WaitGroup
	)
	for i := range contenders {
		requests := make([]store.ClaimRequest, raceKeys)
		for j := range requests { // each batch begins with another key
			requests[(i+j)%raceKeys] = x.request(x.numbered(j), store.NewToken())
		}
		ended.Go(func() {
			<-start
			answers[i] = x.store.(store.Batcher).ClaimBatch(x.ctx, requests)
		})
	}
	close(start)
	ended.Wait()

	for _, got := range answers {
		if len(got) != raceKeys {
			x.failf("a batch of %d claims: got %d answers", raceKeys, len(got))
			return
		}
	}
	for j := range raceKeys {
		granted := 0
		for i := range contenders {
			switch got := answers[i][(i+j)%raceKeys]; {
			case x.failed("claim in a concurrent batch", got.Err):
			case got.Verdict.State == store.Claimed:
				granted++
			case got.Verdict.State != store.Busy:
				x.failf("claim in a concurrent batch: got %v, want claimed or busy", got.Verdict.State)
			}
		}
		if granted != 1 {
			x.failf("%d of %d concurrent batches were granted a key, want 1", granted, contenders)
		}
	}
}
