package sqlitestore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// ClaimBatch is Claim for each request, in one transaction.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	return each(ctx, s.line, "claim", requests,
		func(r store.ClaimRequest, a *store.ClaimAnswer) (step, error) {
			return stepOf(r.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
				changed, a.Verdict, a.Err = row.Claim(r, now)
				return changed
			}), r.Validate()
		},
		func(err error) store.ClaimAnswer { return store.ClaimAnswer{Err: err} })
}

// SettleBatch is Complete or Release for each settlement, in one transaction.
func (s *Store) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	return s.settle(ctx, "settle", settlements)
}

func (s *Store) settle(ctx context.Context, op string, settlements []store.Settlement) []store.SettleAnswer {
	return each(ctx, s.line, op, settlements,
		func(e store.Settlement, a *store.SettleAnswer) (step, error) {
			if e.Keep != 0 {
				return stepOf(e.Key, func(row *sqlrecord.Row, now int64) bool {
					a.Completion = row.Complete(e.Token, e.Keep, now)
					return true
				}), store.ValidateKept(e.Key, e.Token, e.Keep)
			}
			return stepOf(e.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
				changed, a.Err = row.Release(e.Token, e.Ran, now)
				return changed
			}), store.ValidateOwned(e.Key, e.Token)
		},
		func(err error) store.SettleAnswer { return store.SettleAnswer{Err: err} })
}

// Renew starts the stored lease of each claim anew, in one transaction.
func (s *Store) Renew(ctx context.Context, claims []store.Claim) []error {
	return each(ctx, s.line, "renew", claims,
		func(c store.Claim, found *error) (step, error) {
			return stepOf(c.Key, func(row *sqlrecord.Row, now int64) (changed bool) {
				changed, *found = row.Renew(c.Token, now)
				return changed
			}), store.ValidateOwned(c.Key, c.Token)
		},
		func(err error) error { return err })
}

// each has a step made of each item, does them as one call and returns one
// answer for each: what its step has found, or the failure of its validation or
// of the whole call. A step may still find something when the caller has gone.
func each[Item, Answer any](ctx context.Context, l *line, op string, items []Item,
	of func(Item, *Answer) (step, error), failure func(error) Answer) []Answer {
	found, answers := make([]Answer, len(items)), make([]Answer, len(items))
	c := &call{op: op, steps: make([]step, 0, len(items))}
	valid := make([]int, 0, len(items))
	for i, item := range items {
		s, err := of(item, &found[i])
		if err != nil {
			answers[i] = failure(invalid(op, err))
			continue
		}
		c.steps, valid = append(c.steps, s), append(valid, i)
	}
	if len(valid) == 0 {
		return answers
	}
	err := l.do(ctx, c)
	for _, i := range valid {
		if err != nil {
			answers[i] = failure(err)
		} else {
			answers[i] = found[i]
		}
	}
	return answers
}
