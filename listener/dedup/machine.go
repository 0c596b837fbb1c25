package dedup

import (
	"math"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// machine is the protocol of one delivery as a value. Its only entrance is
// step, a pure function of the machine and one input: no clock, no goroutine,
// no I/O, no randomness of its own. Times are offsets on one monotonic clock.
type machine struct {
	policy Policy // filled in
	limits limits

	phase   phase
	began   time.Duration // the first claim was sent
	held    time.Duration // the call that last granted or renewed the lease was sent
	granted time.Duration // the claim was granted, or the unprotected run began
	tries   int           // repeats of the call that is on its way
	giveUp  time.Duration // when to stop repeating it
	ackBy   time.Duration // when to acknowledge a success that could not be recorded

	unsure   bool          // a claim may be in the store: its reply is missing or was too late
	lost     bool          // the store said that the claim is not ours
	renewing bool          // a renewal is on its way
	renewAt  time.Duration // when the next one is due
	cause    error         // why the callback's context was cancelled; nil while it is not
	cancelAt time.Duration // when
	orphaned bool          // the callback goes on although its grace is over
	ran      bool          // what a release has to say

	result Result
}

// limits are the guard's settings that the protocol depends on.
type limits struct {
	claim  time.Duration // how long a claim is repeated before the outage policy decides
	settle time.Duration // how long the end of a delivery is repeated
	renews bool          // the store can renew
	parks  bool          // the store can park

	transacts bool // the claim is part of a transaction: what is not committed has not happened
}

const never = time.Duration(math.MaxInt64)

// phase is what the delivery waits for.
type phase uint8

const (
	idle phase = iota
	claiming
	holding
	verifying
	running
	completing
	journaling
	releasing
	parking
	ended
)

// inputKind tells what happened.
type inputKind uint8

const (
	inStart      inputKind = iota + 1
	inClaimed              // the answer to a claim: sent, verdict or err
	inAborted              // the caller's context ended before the claim was answered: err
	inResumed              // a held delivery may try again (turn), has waited enough, or must not wait any more (aborted)
	inVerified             // the answer of the Verifier: finding or err
	inBegin                // the rest of the batch is claimed, its callback can run
	inReturned             // the callback returned: err
	inTick                 // time has passed
	inRenewed              // the answer to a renewal: sent, err
	inSettled              // the answer to complete, release or park: completion or err
	inTransacted           // the transaction of the callback has ended: err, if it may not have been committed
	inJournaled            // the journal has recorded the success, or has not in time: completion or err
)

type input struct {
	kind       inputKind
	turn       bool
	down       bool // others who wait find that the store does not answer
	doubted    bool // records may be lost, and this key's among them
	now        time.Duration
	sent       time.Duration
	jitter     float64 // in [0,1), spreads repeats
	aborted    error   // why the caller's context has ended: nothing is repeated or started; else nil
	err        error
	verdict    store.Verdict
	finding    Finding
	completion store.Completion
}

// actionKind tells what to do next. The delivery's own goroutine gets all but
// renew, cancel and orphan, which are the scheduler's.
type actionKind uint8

const (
	actNone actionKind = iota
	actClaim
	actHold    // wait for a turn to try again, at most after long
	actAbandon // release a token whose claim may have landed
	actVerify
	actRun
	actComplete
	actRelease
	actPark
	actJournal // have the journal record the success, and wait for that at most after long
	actEnd     // machine.result is final
	actRenew   // send a renewal
	actCancel  // cancel the callback's context with cause
	actOrphan  // count a callback that ignores its cancelled context
)

type action struct {
	kind  actionKind
	anew  bool          // claim with a new token
	after time.Duration // wait that long first
	cause error
}

// step moves the machine by one input and says what to do next.
func (m *machine) step(in input) action {
	switch in.kind {
	case inStart:
		m.phase, m.began, m.giveUp = claiming, in.now, in.now+m.limits.claim
		return action{kind: actClaim}
	case inClaimed:
		return m.claimed(in)
	case inAborted:
		return m.refuse(in.err)
	case inResumed:
		return m.resumed(in)
	case inVerified:
		return m.verified(in)
	case inBegin:
		return m.begin(in)
	case inReturned:
		return m.returned(in)
	case inTick:
		return m.tick(in.now)
	case inRenewed:
		return m.renewed(in)
	case inSettled:
		return m.settled(in)
	case inTransacted:
		return m.transacted(in)
	case inJournaled:
		return m.journaled(in)
	}
	return action{}
}

// renewable reports whether the lease of this claim is renewed at all.
func (m *machine) renewable() bool {
	return m.limits.renews && m.policy.Lease < m.policy.MaxConsume && !m.lost && !m.result.Unprotected
}

// occupied reports whether a callback or a Verifier holds the claim.
func (m *machine) occupied() bool { return m.phase == verifying || m.phase == running }

// backoff is the wait before the next repeat: 10 ms, doubled up to 500 ms, half
// of it spread.
func (m *machine) backoff(jitter float64) time.Duration {
	wait := min(10*time.Millisecond<<min(m.tries, 6), 500*time.Millisecond)
	m.tries++
	return wait/2 + time.Duration(jitter*float64(wait/2))
}
