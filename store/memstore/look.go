package memstore

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Get returns the record of k, or [store.ErrNoRecord].
func (s *Store) Get(ctx context.Context, k store.Key) (store.Record, error) {
	if err := k.Validate(); err != nil {
		return store.Record{}, err
	}
	if err := ctx.Err(); err != nil {
		return store.Record{}, failed("get", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	rec := s.records.get(k.Bounded(), now)
	if rec == nil {
		return store.Record{}, store.ErrNoRecord
	}
	return rec.shown(now), nil
}

// Forget removes the record of k, unless the lease of a claim is running.
func (s *Store) Forget(ctx context.Context, k store.Key) error {
	if err := k.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed("forget", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	rec := s.records.get(k.Bounded(), now)
	switch {
	case rec == nil:
		return store.ErrNoRecord
	case rec.status(now) == store.StatusConsuming:
		return store.ErrInFlight
	}
	s.records.remove(rec)
	return nil
}

// status is what a live record is now.
func (r *record) status(now instant) store.Status {
	switch {
	case r.state == done:
		return store.StatusConsumed
	case r.state == parked:
		return store.StatusParked
	case r.state == inFlight && now < r.until:
		return store.StatusConsuming
	}
	return store.StatusLapsed
}

// shown is a live record as people see it.
func (r *record) shown(now instant) store.Record {
	v := store.Record{
		Status: r.status(now), Token: r.token, Attempt: r.attempt, Fence: r.fence, ExpiresIn: time.Duration(r.expires - now),
	}
	v.Key, v.Hashed = r.key.Unbounded()
	if r.state == inFlight || r.state == released {
		v.Lease, v.Horizon, v.LeaseLeft = r.lease, r.horizon, time.Duration(r.leaseEnd()-now)
	}
	return v
}

// leaseEnd is when the lease of a claim ends, or ended by a release.
func (r *record) leaseEnd() instant { return r.expires.add(-r.horizon) }
