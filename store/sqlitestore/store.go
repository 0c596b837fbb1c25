package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// Store is a store in a table of an SQLite database. It is safe for concurrent
// use, by several processes, too. Its errors are [*store.Error] of the driver
// "sqlitestore", beside the sentinels of package store.
type Store struct {
	options Options
	db      *sql.DB
	owned   bool // db was opened here
	line    *line
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Renewer   = (*Store)(nil)
	_ store.Batcher   = (*Store)(nil)
	_ store.Parker    = (*Store)(nil)
	_ store.Fencer    = (*Store)(nil)
	_ store.Checker   = (*Store)(nil)
	_ store.Getter    = (*Store)(nil)
	_ store.Forgetter = (*Store)(nil)
	_ store.Scanner   = (*Store)(nil)
	_ store.Sweeper   = (*Store)(nil)
)

// Claim asks for the right to run r.Key.
func (s *Store) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	answer := s.ClaimBatch(ctx, []store.ClaimRequest{r})[0]
	return answer.Verdict, answer.Err
}

// Complete records that the effect of k happened. It repairs a row that is no
// record.
func (s *Store) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	if err := invalid("complete", store.ValidateKept(k, t, keep)); err != nil { // as keep may be 0
		return 0, err
	}
	answer := s.settle(ctx, "complete", []store.Settlement{{Claim: store.Claim{Key: k, Token: t}, Keep: keep}})[0]
	return answer.Completion, answer.Err
}

// Release gives the claim back and keeps its record for the claim's horizon.
func (s *Store) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	return s.settle(ctx, "release", []store.Settlement{{Claim: store.Claim{Key: k, Token: t}, Ran: ran}})[0].Err
}

// Park takes the key out of circulation for keep.
func (s *Store) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	if err := invalid("park", store.ValidateKept(k, t, keep)); err != nil {
		return err
	}
	return s.one(ctx, "park", k, func(row *sqlrecord.Row, now int64) (bool, error) { return row.Park(t, keep, now) })
}

// Fence draws a number above every earlier one of the record, and not below the
// time in milliseconds.
func (s *Store) Fence(ctx context.Context, k store.Key, t store.Token) (int64, error) {
	if err := invalid("fence", store.ValidateOwned(k, t)); err != nil {
		return 0, err
	}
	drawn := new(int64) // which is still written when the caller has gone
	err := s.one(ctx, "fence", k, func(row *sqlrecord.Row, now int64) (bool, error) {
		n, err := row.Draw(t, now)
		*drawn = n
		return err == nil, err
	})
	if err != nil {
		return 0, err
	}
	return *drawn, nil
}

// one makes one step of one record, which decides whether it succeeds.
func (s *Store) one(ctx context.Context, op string, k store.Key,
	decide func(*sqlrecord.Row, int64) (bool, error)) error {
	found := new(error) // which is still written when the caller has gone
	err := s.line.do(ctx, &call{op: op, steps: []step{stepOf(k, func(row *sqlrecord.Row, now int64) bool {
		changed, err := decide(row, now)
		*found = err
		return changed
	})}})
	if err != nil {
		return err
	}
	return *found
}

func stepOf(k store.Key, decide func(*sqlrecord.Row, int64) bool) step {
	k = k.Bounded()
	return step{key: k, hash: sqlrecord.Hash(k), decide: decide}
}

// invalid names the call whose arguments were refused.
func invalid(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlitestore: %s: %w", op, err)
}
