package memstore

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Complete records that the effect of k happened, whatever the record says.
func (s *Store) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, failed("complete", err)
	}
	k = k.Bounded()

	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	rec := s.records.get(k, now)
	found, expires := met(rec, t), now.add(keep)
	switch {
	case rec == nil:
		s.records.sweep(now, sweepPerWrite)
		rec = s.records.add(k)
	case rec.state == done:
		expires = max(expires, rec.expires)
	}
	s.end(rec, done, t, expires)
	return found, nil
}

// met is what a complete by t answers about the record it found.
func met(rec *record, t store.Token) store.Completion {
	switch {
	case rec == nil:
		return store.Recreated
	case rec.owned(t), rec.state == done && rec.token == t:
		return store.Completed
	case rec.state == done:
		return store.AlreadyDone
	}
	return store.Late
}

// Release gives the claim back. The record stays for its horizon, so that the
// attempt is counted.
func (s *Store) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	return s.own(ctx, "release", k, t, released, func(rec *record, now instant) {
		if !ran {
			rec.attempt--
		}
		s.end(rec, released, t, now.add(rec.horizon))
	})
}

// Park takes the key out of circulation for keep.
func (s *Store) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return err
	}
	return s.own(ctx, "park", k, t, parked, func(rec *record, now instant) {
		s.end(rec, parked, t, now.add(keep))
	})
}

// Renew starts the stored lease of each claim anew.
func (s *Store) Renew(ctx context.Context, claims []store.Claim) []error {
	errs := make([]error, len(claims))
	for i, c := range claims {
		errs[i] = s.own(ctx, "renew", c.Key, c.Token, 0, s.arm)
	}
	return errs
}

// Fence draws a number above every earlier one of the record, and at least the
// wall clock's milliseconds as they were at New plus the time since.
func (s *Store) Fence(ctx context.Context, k store.Key, t store.Token) (int64, error) {
	var fence int64
	err := s.own(ctx, "fence", k, t, 0, func(rec *record, now instant) {
		rec.fence = max(rec.fence+1, s.start.UnixMilli()+time.Duration(now).Milliseconds())
		fence = rec.fence
	})
	return fence, err
}

// own lets act change the record of k if t owns it. It accepts a repeat: a
// record that t itself moved into the state to.
func (s *Store) own(ctx context.Context, op string, k store.Key, t store.Token, to state,
	act func(*record, instant)) error {
	if err := store.ValidateOwned(k, t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed(op, err)
	}
	k = k.Bounded()

	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	rec := s.records.get(k, now)
	switch {
	case rec.owned(t):
		act(rec, now)
		return nil
	case rec != nil && rec.state == to && rec.token == t:
		return nil
	}
	return store.ErrNotOwner
}
