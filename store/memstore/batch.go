package memstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ClaimBatch is Claim for each request, in order.
func (s *Store) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	answers := make([]store.ClaimAnswer, len(requests))
	for i, r := range requests {
		answers[i].Verdict, answers[i].Err = s.Claim(ctx, r)
	}
	return answers
}

// SettleBatch is Complete or Release for each settlement, in order.
func (s *Store) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	answers := make([]store.SettleAnswer, len(settlements))
	for i, t := range settlements {
		if t.Keep > 0 {
			answers[i].Completion, answers[i].Err = s.Complete(ctx, t.Key, t.Token, t.Keep)
			continue
		}
		answers[i].Err = s.Release(ctx, t.Key, t.Token, t.Ran)
	}
	return answers
}
