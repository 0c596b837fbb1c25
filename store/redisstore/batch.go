package redisstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ClaimBatch is Claim for each request, all in one round trip (one per server of
// a cluster). Requests for one key are judged in their order.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	answers := make([]store.ClaimAnswer, len(requests))
	calls := make([]*call, 0, len(requests))
	for i, r := range requests {
		c, err := s.claim(r)
		if err != nil {
			answers[i].Err = err
			continue
		}
		c.place = i
		calls = append(calls, c)
	}
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
	calls := make([]*call, 0, len(settlements))
	for i, t := range settlements {
		c, err := s.settlement(t)
		if err != nil {
			answers[i].Err = err
			continue
		}
		c.place = i
		calls = append(calls, c)
	}
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

func (s *Store) settlement(t store.Settlement) (*call, error) {
	if t.Keep > 0 {
		return s.complete(t.Key, t.Token, t.Keep)
	}
	return s.release(t.Key, t.Token, t.Ran)
}
