package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var (
	errNoVerdict = errors.New("dedup: store answered without a verdict")
	errTooLate   = errors.New("dedup: store answered after two thirds of the lease")
)

func (m *machine) claimed(in input) action {
	if in.err != nil {
		return m.claimFailed(in)
	}
	m.result.Rearmed = m.result.Rearmed || in.verdict.Rearmed
	switch in.verdict.State {
	case store.Claimed:
		return m.grant(in)
	case store.Done:
		return m.end(Skipped, nil)
	case store.Busy:
		m.result.Left = in.verdict.Left
		return m.end(Deferred, ErrBusy)
	case store.Parked:
		return m.end(Deferred, ErrParked)
	case store.Corrupt:
		return m.end(Deferred, ErrCorrupt)
	}
	in.err = errNoVerdict
	return m.claimFailed(in)
}

// claimFailed repeats the claim with the same token, which is safe whatever
// became of the earlier call, and lets the outage policy decide in the end.
func (m *machine) claimFailed(in input) action {
	class := store.ClassOf(in.err)
	m.unsure = m.unsure || class == store.Unknown && !m.limits.transacts
	if in.aborted != nil {
		return m.refuse(in.err)
	}
	if class != store.Permanent && !errors.Is(in.err, store.ErrNotOwner) {
		if wait := m.backoff(in.jitter); in.now+wait < m.giveUp && !(in.down && m.holds(in.now)) {
			return action{kind: actClaim, after: wait}
		}
		if m.holds(in.now) {
			return m.hold(in.now, in.err)
		}
	}
	if m.policy.Outage == OutageRun && !errors.Is(in.err, store.ErrInvalid) {
		m.result.Unprotected = true
		m.phase, m.granted = running, in.now
		return action{kind: actRun}
	}
	return m.refuse(in.err)
}

// grant sends a claim again whose answer took so long that little of the lease
// is left. Nothing runs under such a claim.
func (m *machine) grant(in input) action {
	m.held, m.granted, m.renewAt = in.sent, in.now, in.sent+m.policy.Lease/3
	m.result.Attempt = in.verdict.Attempt
	if m.unsure = !m.fresh(in.now); m.unsure {
		if in.now < m.giveUp {
			return action{kind: actClaim}
		}
		if in.aborted == nil && m.holds(in.now) {
			return m.hold(in.now, errTooLate)
		}
		return m.giveBack(in.now, errTooLate)
	}
	if in.aborted == nil && (in.verdict.Attempt > 1 || in.doubted) && m.policy.Verifier != nil {
		m.phase = verifying
		return action{kind: actVerify}
	}
	return m.begin(in)
}

func (m *machine) fresh(now time.Duration) bool { return now-m.held <= m.policy.Lease*2/3 }

func (m *machine) verified(in input) action {
	switch {
	case in.err != nil:
		return m.giveBack(in.now, fmt.Errorf("%w: %w", ErrUnverified, in.err))
	case in.finding == Happened:
		m.result.Outcome = Skipped
		return m.complete(in.now)
	case in.finding != NotHappened:
		return m.giveBack(in.now, ErrUnverified)
	}
	return m.begin(in)
}

// begin is the pre-start check. It comes again for a claim that has been held
// for a while: by a Verifier, or until the rest of its batch was claimed.
func (m *machine) begin(in input) action {
	switch {
	case in.aborted != nil:
		return m.giveBack(in.now, in.aborted)
	case m.cause != nil:
		return m.giveBack(in.now, m.cause)
	case !m.result.Unprotected && !m.fresh(in.now):
		return m.giveBack(in.now, errTooLate)
	}
	m.phase = running
	return action{kind: actRun}
}

func (m *machine) returned(in input) action {
	m.result.Cancelled = m.cause != nil
	if in.err == nil {
		m.result.Outcome = Ran
		return m.complete(in.now)
	}
	if IsAlreadyDone(in.err) {
		m.result.Outcome = Skipped
		return m.complete(in.now)
	}
	m.result.Outcome, m.result.Err = Failed, in.err
	if m.lost || m.limits.transacts || (m.result.Unprotected && !m.unsure) {
		return m.finish()
	}
	if IsPermanent(in.err) && m.limits.parks && !m.result.Unprotected {
		return m.settle(parking, actPark, in.now+m.limits.settle)
	}
	m.ran = true
	return m.settle(releasing, actRelease, m.releaseBy(in.now))
}

// transacted ends a delivery whose callback has returned without an error: by the
// commit, or by its failure, after which there is no effect.
func (m *machine) transacted(in input) action {
	if m.result.Cancelled = m.cause != nil; in.err != nil {
		return m.end(Deferred, in.err)
	}
	if m.result.Outcome == 0 {
		m.result.Outcome = Ran
	}
	m.result.Completion = store.Completed
	return m.finish()
}

// tick is the scheduler's question at the time that wake named: one action at a
// time, until there is none.
func (m *machine) tick(now time.Duration) action {
	switch {
	case !m.occupied() || m.orphaned:
		return action{}
	case m.cause != nil && now >= m.cancelAt+m.policy.Lease:
		m.orphaned = true
		return action{kind: actOrphan}
	case m.cause == nil && now >= m.granted+m.policy.MaxConsume:
		return m.cancel(now, ErrMaxConsume)
	case m.cause == nil && !m.result.Unprotected && now >= m.held+m.policy.Lease:
		if m.renewable() {
			return m.cancel(now, ErrLeaseLost)
		}
		return m.cancel(now, ErrMaxConsume)
	case m.renewable() && !m.renewing && now+m.renewSlack() >= m.renewAt:
		m.renewing = true
		return action{kind: actRenew}
	}
	return action{}
}

// wake is when the scheduler has to tick next.
func (m *machine) wake() time.Duration {
	if !m.occupied() || m.orphaned {
		return never
	}
	at := m.granted + m.policy.MaxConsume
	switch {
	case m.cause != nil:
		at = m.cancelAt + m.policy.Lease
	case !m.result.Unprotected:
		at = min(at, m.held+m.policy.Lease)
	}
	if m.renewable() && !m.renewing {
		at = min(at, m.renewAt)
	}
	return at
}

// renewSlack lets renewals that are nearly due travel with those that are.
func (m *machine) renewSlack() time.Duration { return min(m.policy.Lease/12, renewCoalesce) }

func (m *machine) renewed(in input) action {
	m.renewing = false
	if !m.occupied() {
		return action{}
	}
	switch {
	case in.err == nil:
		m.held = max(m.held, in.sent)
		m.renewAt = in.sent + m.policy.Lease/3
	case errors.Is(in.err, store.ErrNotOwner):
		m.lost = true
		if m.cause == nil {
			return m.cancel(in.now, ErrLeaseLost)
		}
	default:
		m.renewAt = in.now + m.policy.Lease/12
	}
	return action{}
}

func (m *machine) cancel(now time.Duration, cause error) action {
	m.cause, m.cancelAt = cause, now
	return action{kind: actCancel, cause: cause}
}

func (m *machine) settled(in input) action {
	if m.phase == holding {
		return m.abandoned(in)
	}
	if m.phase == completing && in.err == nil && in.completion == 0 {
		in.err = errNoVerdict
	}
	switch {
	case in.err == nil, m.phase != completing && errors.Is(in.err, store.ErrNotOwner):
		m.result.Completion = in.completion
		m.result.Left = 0
		return m.finish()
	case m.repeatable(in.err):
		if wait := m.backoff(in.jitter); in.now+wait < m.giveUp && !(in.down && m.phase == completing) {
			return action{kind: settleAction(m.phase), after: wait}
		}
		if m.phase == completing {
			return m.journal(in.now, in.err)
		}
	case m.phase == completing:
		return m.unrecorded(in.now, in.err)
	}
	return m.finish()
}

// repeatable reports whether a settling call that failed is worth repeating. A
// success is: what is permanent to the store, such as a missing right, somebody
// may mend before the time is over.
func (m *machine) repeatable(err error) bool {
	if m.phase == completing {
		return !errors.Is(err, store.ErrInvalid)
	}
	return store.ClassOf(err) != store.Permanent
}

func settleAction(p phase) actionKind {
	switch p {
	case completing:
		return actComplete
	case parking:
		return actPark
	}
	return actRelease
}

// giveBack releases a claim under which nothing ran.
func (m *machine) giveBack(now time.Duration, err error) action {
	m.result.Outcome, m.result.Err, m.result.Unprotected = Deferred, err, false
	if m.lost || m.limits.transacts {
		return m.finish()
	}
	m.result.Left = max(0, m.held+m.policy.Lease-now)
	return m.settle(releasing, actRelease, m.releaseBy(now))
}

// refuse defers a delivery whose claim was not answered. If the claim may be in
// the store its token is given up with one release: should that fail too, the
// claim costs its key one lease.
func (m *machine) refuse(err error) action {
	m.result.Outcome, m.result.Err = Deferred, err
	if !m.unsure {
		return m.finish()
	}
	m.result.Left = m.policy.Lease
	return m.settle(releasing, actRelease, 0)
}

// releaseBy is when repeating a release stops: the lease frees the key anyway.
func (m *machine) releaseBy(now time.Duration) time.Duration {
	return min(now+m.limits.settle, m.held+m.policy.Lease)
}

func (m *machine) settle(p phase, kind actionKind, giveUp time.Duration) action {
	m.phase, m.tries, m.giveUp = p, 0, giveUp
	return action{kind: kind}
}

func (m *machine) end(o Outcome, err error) action {
	m.result.Outcome, m.result.Err = o, err
	return m.finish()
}

func (m *machine) finish() action {
	m.phase = ended
	return action{kind: actEnd}
}
