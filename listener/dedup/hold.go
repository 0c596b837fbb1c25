package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ErrDraining is wrapped when a delivery was waiting for the store, or came to
// do so, after [Guard.StopWaiting].
var ErrDraining = errors.New("dedup: draining")

// The transitions of a held delivery. Each of its turns is one claim with a new
// token, so that nothing which is still under way for an old one can be taken
// for its answer; a claim that may have landed is released first.

func (m *machine) heldUntil() time.Duration { return m.began + m.policy.HoldLimit }

// holds reports whether the delivery may wait for the store.
func (m *machine) holds(now time.Duration) bool {
	return m.policy.Outage == OutageHold && now < m.heldUntil()
}

// hold keeps why the store did not answer in the result, until it answers.
func (m *machine) hold(now time.Duration, err error) action {
	m.phase, m.result.Err = holding, err
	return action{kind: actHold, after: m.heldUntil() - now}
}

func (m *machine) resumed(in input) action {
	err := m.result.Err
	switch {
	case in.aborted != nil:
		return m.refuse(fmt.Errorf("%w: %w", in.aborted, err))
	case !m.holds(in.now):
		return m.refuse(fmt.Errorf("dedup: held for %v: %w", m.policy.HoldLimit, err))
	case !in.turn:
		return m.hold(in.now, err)
	case m.unsure:
		return action{kind: actAbandon}
	}
	return m.claimAnew(in.now)
}

func (m *machine) abandoned(in input) action {
	switch {
	case in.err == nil, errors.Is(in.err, store.ErrNotOwner):
		m.unsure = false
		return m.claimAnew(in.now)
	case m.holds(in.now) && store.ClassOf(in.err) != store.Permanent:
		return m.hold(in.now, in.err)
	}
	return m.refuse(in.err)
}

// claimAnew sends one claim, which is not repeated.
func (m *machine) claimAnew(now time.Duration) action {
	m.phase, m.giveUp, m.result.Err = claiming, now, nil
	return action{kind: actClaim, anew: true}
}
