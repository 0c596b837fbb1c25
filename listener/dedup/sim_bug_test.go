package dedup

import (
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simBug is a bug that is planted into a run. The simulation is worth what it
// finds.
type simBug struct {
	takeOverWithoutToken  bool // the record keeps the token of the owner before
	markBeforeRun         bool // a claim says done
	refusedRelease        bool // who is told Busy releases the key
	ownHorizon            bool // a lease is judged by the horizon of the judge
	unfencedRelease       bool // a release asks for no token
	releasedCopyRuns      bool // a late copy of a claim is granted after its release
	releaseSubtractsAgain bool // a repeated release gives the attempt back twice
	fencedComplete        bool // a success is refused after a take-over
	leaseCountsFromAnswer bool // and not from when the claim was sent
	silenceIsAGrant       bool // a claim without an answer runs
	releaseOnCancel       bool // a cancelled callback's claim is released while it runs
	endBeforeComplete     bool // a success is acknowledged before it is recorded
	neverResumed          bool // a held delivery gets no turn
}

// distort is what a bug makes of an input.
func (b simBug) distort(in input) input {
	if in.kind != inClaimed {
		return in
	}
	if b.leaseCountsFromAnswer {
		in.sent = in.now
	}
	if b.silenceIsAGrant && in.err != nil {
		in.err, in.verdict = nil, store.Verdict{State: store.Claimed, Attempt: 1}
	}
	return in
}

// after is what a bug does beside an action.
func (b simBug) after(d *simDelivery, a action) {
	if b.refusedRelease && d.told == store.Busy && d.machine.phase == ended {
		_ = d.p.s.store.release(d.key, d.key.record.token, true) // whatever it answers: it is the bug
	}
	if b.releaseOnCancel && a.kind == actCancel {
		d.perform(action{kind: actRelease})
	}
}

func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, breaks string
		bug          simBug
	}{
		{"take-over without token", "one owner", simBug{takeOverWithoutToken: true}},
		{"mark before run", "no loss", simBug{markBeforeRun: true}},
		{"release by a refused copy", "one owner", simBug{refusedRelease: true}},
		{"judging by one's own horizon", "one owner", simBug{ownHorizon: true}},
		{"unfenced release", "late is harmless", simBug{unfencedRelease: true}},
		{"grant to a released copy", "released stays released", simBug{releasedCopyRuns: true}},
		{"repeated release that subtracts again", "attempts count", simBug{releaseSubtractsAgain: true}},
		{"fenced complete", "done stays done", simBug{fencedComplete: true}},
		{"lease from the answer on", "one owner", simBug{leaseCountsFromAnswer: true}},
		{"silence taken for a grant", "unknown is no", simBug{silenceIsAGrant: true}},
		{"release on cancel", "running is held", simBug{releaseOnCancel: true}},
		{"end before complete", "known effects", simBug{endBeforeComplete: true}},
		{"a turn that never comes", "every end", simBug{neverResumed: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, broken := simulate(100, c.bug)
			if broken == nil || !strings.HasPrefix(broken.why, c.breaks) {
				t.Fatalf("got %+v, want that 100 seeds break %q", broken, c.breaks)
			}
			t.Logf("seed %d: %s", broken.seed, broken.why)
		})
	}
}
