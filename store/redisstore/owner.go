package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Renew starts the stored leases anew, all in one round trip (one per server of
// a cluster), and answers each claim in its place. It needs no memory on the
// server.
func (s *Store) Renew(ctx context.Context, claims []store.Claim) []error {
	errs := make([]error, len(claims))
	calls := make([]*call, 0, len(claims))
	for i, c := range claims {
		if err := store.ValidateOwned(c.Key, c.Token); err != nil {
			errs[i] = fmt.Errorf("redisstore: renew: %w", err)
			continue
		}
		calls = append(calls, &call{op: "renew", script: renewScript, name: s.name(c.Key),
			token: c.Token.String(), place: i})
	}
	s.do(ctx, calls)
	for _, c := range calls {
		errs[c.place] = owned(c.result())
	}
	return errs
}

// Park takes the key out of circulation for keep. On Redis 7.0 and later it
// also succeeds when the server's memory is full.
func (s *Store) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return fmt.Errorf("redisstore: park: %w", err)
	}
	answer, err := s.run(ctx, "park", parkScript, s.name(k), t.String(), keep.Milliseconds())
	return owned(answer, err)
}

// Fence draws a number above every one drawn for k before. Its clock is that of
// the server the record lives on.
func (s *Store) Fence(ctx context.Context, k store.Key, t store.Token) (int64, error) {
	if err := store.ValidateOwned(k, t); err != nil {
		return 0, fmt.Errorf("redisstore: fence: %w", err)
	}
	answer, err := s.run(ctx, "fence", fenceScript, s.name(k), t.String())
	if err := owned(answer, err); err != nil {
		return 0, err
	}
	return answer[0], nil
}
