package dedup

import "time"

// The transitions of a success that the store does not take. A delivery repeats
// the call itself for a moment; then the journal does, for all of them.

// complete decides how long the message waits for its success to be recorded.
// The time that hold leaves the callback is not used up by it. What ran
// unprotected does not wait: nothing keeps its key.
func (m *machine) complete(now time.Duration) action {
	switch {
	case m.result.Unprotected:
		m.ackBy = now
	case m.policy.Outage == OutageHold:
		m.ackBy = min(now+m.policy.HoldLimit, m.heldUntil()+m.policy.MaxConsume)
	default:
		m.ackBy = now + m.limits.settle
	}
	return m.settle(completing, actComplete, min(now+m.limits.claim, m.ackBy))
}

// journal keeps why the store did not take it in the result, until it does.
func (m *machine) journal(now time.Duration, err error) action {
	m.phase, m.result.Err = journaling, err
	return action{kind: actJournal, after: max(0, m.ackBy-now)}
}

func (m *machine) journaled(in input) action {
	if in.err != nil {
		return m.unrecorded(in.now, in.err)
	}
	m.result.Completion, m.result.Left, m.result.Err = in.completion, 0, nil
	return m.finish()
}

// unrecorded ends a delivery whose success could not be recorded. Whoever has a
// Verifier gets the message again: it can tell that the effect is there.
func (m *machine) unrecorded(now time.Duration, err error) action {
	m.result.Unrecorded, m.result.Err = true, err
	if !m.result.Unprotected {
		m.result.Left = max(0, m.held+m.policy.Lease-now)
	}
	if m.strict() {
		m.result.Outcome = Deferred
	}
	return m.finish()
}

// strict reports whether only a recorded success is acknowledged.
func (m *machine) strict() bool { return m.policy.Verifier != nil && !m.result.Unprotected }
