package mysqlstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ClaimBatch is Claim for each request, in one statement and one look at what
// became of it for every 128 keys. Requests for one key are judged in their
// order.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	answers := make([]store.ClaimAnswer, len(requests))
	calls := batch(len(requests), func(c *call, i int) error {
		answers[i].Err = s.claimOf(c, &requests[i])
		return answers[i].Err
	})
	s.doAll(ctx, calls)
	for _, c := range calls {
		answers[c.place] = store.ClaimAnswer{Verdict: c.verdict, Err: c.failure()}
	}
	return answers
}

// SettleBatch is Complete or Release for each settlement, in one statement and
// one look at what became of it for every 128 completes, and as much for
// releases.
func (s *Store) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	answers := make([]store.SettleAnswer, len(settlements))
	calls := batch(len(settlements), func(c *call, i int) error {
		answers[i].Err = s.settlementOf(c, &settlements[i])
		return answers[i].Err
	})
	s.doAll(ctx, calls)
	for _, c := range calls {
		answers[c.place] = store.SettleAnswer{Completion: c.completion, Err: c.failure()}
	}
	return answers
}

// batch makes n calls and leaves out those that cannot be made.
func batch(n int, prepare func(c *call, i int) error) []*call {
	all, calls := make([]call, n), make([]*call, 0, n)
	for i := range all {
		c := &all[i]
		if prepare(c, i) == nil {
			c.place = i
			calls = append(calls, c)
		}
	}
	return calls
}
