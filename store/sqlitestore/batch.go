package sqlitestore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// ClaimBatch is Claim for each request, in one transaction.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	found := make([]store.ClaimAnswer, len(requests)) // which is still written when the caller has gone
	refused := make([]error, len(requests))
	c := &call{op: "claim", steps: make([]step, 0, len(requests))}
	for i, r := range requests {
		if refused[i] = invalid("claim", r.Validate()); refused[i] != nil {
			continue
		}
		c.steps = append(c.steps, stepOf(r.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
			changed, found[i].Verdict, found[i].Err = row.Claim(r, now)
			return changed
		}))
	}
	err := s.do(ctx, c)
	if err != nil {
		found = make([]store.ClaimAnswer, len(requests))
	}
	for i := range found {
		if refused[i] != nil {
			found[i].Err = refused[i]
		} else if err != nil {
			found[i].Err = err
		}
	}
	return found
}

// SettleBatch is Complete or Release for each settlement, in one transaction.
func (s *Store) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	return s.settle(ctx, "settle", settlements)
}

func (s *Store) settle(ctx context.Context, op string, settlements []store.Settlement) []store.SettleAnswer {
	found := make([]store.SettleAnswer, len(settlements)) // which is still written when the caller has gone
	refused := make([]error, len(settlements))
	c := &call{op: op, steps: make([]step, 0, len(settlements))}
	for i, e := range settlements {
		if refused[i] = invalid(op, validateSettlement(e)); refused[i] != nil {
			continue
		}
		c.steps = append(c.steps, stepOf(e.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
			if e.Keep > 0 {
				found[i].Completion = row.Complete(e.Token, e.Keep, now)
				return true
			}
			changed, found[i].Err = row.Release(e.Token, e.Ran, now)
			return changed
		}))
	}
	err := s.do(ctx, c)
	if err != nil {
		found = make([]store.SettleAnswer, len(settlements))
	}
	for i := range found {
		if refused[i] != nil {
			found[i].Err = refused[i]
		} else if err != nil {
			found[i].Err = err
		}
	}
	return found
}

func validateSettlement(e store.Settlement) error {
	if e.Keep != 0 {
		return store.ValidateKept(e.Key, e.Token, e.Keep)
	}
	return store.ValidateOwned(e.Key, e.Token)
}

// Renew starts the stored lease of each claim anew, in one transaction.
func (s *Store) Renew(ctx context.Context, claims []store.Claim) []error {
	found := make([]error, len(claims)) // which is still written when the caller has gone
	errs := make([]error, len(claims))
	c := &call{op: "renew", steps: make([]step, 0, len(claims))}
	for i, held := range claims {
		if errs[i] = invalid("renew", store.ValidateOwned(held.Key, held.Token)); errs[i] != nil {
			continue
		}
		c.steps = append(c.steps, stepOf(held.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
			changed, found[i] = row.Renew(held.Token, now)
			return changed
		}))
	}
	err := s.do(ctx, c)
	for i := range errs {
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		default:
			errs[i] = found[i]
		}
	}
	return errs
}

// do executes c if there is anything in it.
func (s *Store) do(ctx context.Context, c *call) error {
	if len(c.steps) == 0 {
		return nil
	}
	return s.line.do(ctx, c)
}
