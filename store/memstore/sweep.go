package memstore

import (
	"context"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// perLock is how many records a long call looks at, or removes, before it lets
// others in.
const perLock = 1024

// Sweep removes up to limit expired records, the longest expired first. Calls
// that add records remove expired ones too: it is for a store that hears of no
// new keys but is to give its memory back.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("memstore: sweep: %w: limit is %d, want 1 or more", store.ErrInvalid, limit)
	}
	removed := 0
	for removed < limit {
		if err := ctx.Err(); err != nil {
			return removed, failed("sweep", err)
		}
		step := min(limit-removed, perLock)
		n := s.sweepSome(step)
		removed += n
		if n < step {
			break
		}
	}
	return removed, nil
}

func (s *Store) sweepSome(most int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for n := range most {
		r := s.records.next()
		if r == nil || r.expires > now {
			return n
		}
		s.records.remove(r)
	}
	return most
}
