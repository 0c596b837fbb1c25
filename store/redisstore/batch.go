package redisstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ClaimBatch is Claim for each request, all in one round trip (one per server of
// a cluster). Requests for one key are judged in their order.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	answers := make([]store.ClaimAnswer, len(requests))
	calls := batch(len(requests), func(c *call, i int) error {
		answers[i].Err = s.claim(c, &requests[i])
		return answers[i].Err
	})
	s.do(ctx, calls)
	for _, c := range calls {
		answers[c.place].Verdict, answers[c.place].Err = verdict(c.result())
	}
	return answers
}

// SettleBatch is Complete or Release for each settlement, all in one round trip
// (one per server of a cluster).
func (s *Store) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	answers := make([]store.SettleAnswer, len(settlements))
	calls := batch(len(settlements), func(c *call, i int) error {
		answers[i].Err = s.settlement(c, &settlements[i])
		return answers[i].Err
	})
	s.do(ctx, calls)
	s.prolong(ctx, calls)
	for _, c := range calls {
		if settlements[c.place].Keep > 0 {
			answers[c.place].Completion, answers[c.place].Err = completion(c.result())
			continue
		}
		answers[c.place].Err = owned(c.result())
	}
	return answers
}

func (s *Store) settlement(c *call, t *store.Settlement) error {
	if t.Keep > 0 {
		return s.complete(c, t.Key, t.Token, t.Keep)
	}
	return s.release(c, t.Key, t.Token, t.Ran)
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
