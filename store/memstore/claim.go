package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var errFull = errors.New("MaxRecords records are alive")

// Claim asks for the right to run r.Key. It allocates nothing when the answer
// is Busy, Done or Parked.
func (s *Store) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if err := r.Validate(); err != nil {
		return store.Verdict{}, err
	}
	if err := ctx.Err(); err != nil {
		return store.Verdict{}, failed("claim", err)
	}
	k := r.Key.Bounded()

	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	rec := s.records.get(k, now)
	switch {
	case rec == nil:
		return s.claimFree(k, r, now)
	case rec.state == done:
		return store.Verdict{State: store.Done}, nil
	case rec.state == parked:
		return store.Verdict{State: store.Parked}, nil
	case rec.state == released && rec.token == r.Token:
		return store.Verdict{}, store.ErrNotOwner
	case rec.owned(r.Token):
		return s.grant(rec, r, rec.attempt, now), nil
	case rec.state == inFlight && now < rec.until:
		return store.Verdict{State: store.Busy, Left: time.Duration(rec.until - now)}, nil
	case r.MaxAttempts > 0 && rec.attempt >= r.MaxAttempts:
		s.end(rec, parked, store.Token{}, now.add(r.ParkKeep)) // nobody owned it
		return store.Verdict{State: store.Parked}, nil
	}
	return s.grant(rec, r, rec.attempt+1, now), nil
}

func (s *Store) claimFree(k store.Key, r store.ClaimRequest, now instant) (store.Verdict, error) {
	s.records.sweep(now, sweepPerWrite)
	if _, known := s.records.byKey[k]; !known && len(s.records.byKey) >= s.max {
		return store.Verdict{}, failed("claim", errFull)
	}
	return s.grant(s.records.add(k), r, 1, now), nil
}

// sweepPerWrite is how many expired records a write that may add one removes:
// more than one, so that a backlog of them melts.
const sweepPerWrite = 2

func (s *Store) grant(rec *record, r store.ClaimRequest, attempt int, now instant) store.Verdict {
	rec.state, rec.token, rec.attempt = inFlight, r.Token, attempt
	rec.lease, rec.horizon = r.Lease, r.Horizon
	s.arm(rec, now)
	return store.Verdict{State: store.Claimed, Attempt: attempt}
}

// arm starts the stored lease anew.
func (s *Store) arm(rec *record, now instant) {
	rec.until = now.add(rec.lease)
	s.records.expire(rec, rec.until.add(rec.horizon))
}

// end moves a record into a state that nothing but its expiry ends.
func (s *Store) end(rec *record, to state, t store.Token, expires instant) {
	rec.state, rec.token = to, t
	s.records.expire(rec, expires)
}

func failed(op string, err error) error {
	return &store.Error{Driver: "memstore", Op: op, Class: store.NotApplied, Err: err}
}
