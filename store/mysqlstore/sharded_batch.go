package mysqlstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Renew starts the stored lease of each claim anew, at the shards of the keys
// side by side. It returns when the slowest has answered.
func (s *Sharded) Renew(ctx context.Context, claims []store.Claim) []error {
	return scatter(s, "renew", claims, func(c store.Claim) store.Key { return c.Key },
		func(shard *Store, part []store.Claim) []error { return shard.Renew(ctx, part) },
		func(answer *error) *error { return answer })
}

// ClaimBatch is Claim for each request, at the shards of the keys side by side.
// It returns when the slowest has answered.
func (s *Sharded) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	return scatter(s, "claim", requests, func(r store.ClaimRequest) store.Key { return r.Key },
		func(shard *Store, part []store.ClaimRequest) []store.ClaimAnswer { return shard.ClaimBatch(ctx, part) },
		func(answer *store.ClaimAnswer) *error { return &answer.Err })
}

// SettleBatch is Complete or Release for each settlement, at the shards of the
// keys side by side. It returns when the slowest has answered.
func (s *Sharded) SettleBatch(ctx context.Context, settlements []store.Settlement) []store.SettleAnswer {
	return scatter(s, "settle", settlements, func(t store.Settlement) store.Key { return t.Key },
		func(shard *Store, part []store.Settlement) []store.SettleAnswer { return shard.SettleBatch(ctx, part) },
		func(answer *store.SettleAnswer) *error { return &answer.Err })
}

// scatter has every shard answer for its own keys, in their order, and puts the
// answers back in the order of all. errOf is where an answer has its error.
func scatter[Q, A any](s *Sharded, op string, asked []Q, key func(Q) store.Key,
	ask func(*Store, []Q) []A, errOf func(*A) *error) []A {
	answers := make([]A, len(asked))
	parts, places, used := make([][]Q, len(s.shards)), make([][]int, len(s.shards)), []int(nil)
	for place, q := range asked {
		i, err := s.shard(op, key(q))
		if err != nil {
			*errOf(&answers[place]) = err
			continue
		}
		if parts[i] == nil {
			used = append(used, i)
		}
		parts[i], places[i] = append(parts[i], q), append(places[i], place)
	}
	together(used, func(i int) {
		for n, answer := range ask(s.shards[i], parts[i]) {
			err := errOf(&answer)
			*err = named(i, *err)
			answers[places[i][n]] = answer
		}
	})
	return answers
}
