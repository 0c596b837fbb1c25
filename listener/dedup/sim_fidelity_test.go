package dedup

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// A simulation is worth as much as its fake store is like a real one.
func TestTheFakeStoreAnswersAsMemstoreDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, seed)
			for range 100 {
				p.step(t)
			}
		})
	}
}

// pair is the fake store and the shipped one, with one key and a few tokens.
type pair struct {
	s       *sim
	key     *simKey
	shipped *memstore.Store
	tokens  [5]store.Token
}

func newPair(t *testing.T, seed uint64) *pair {
	shipped, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{s: newSim(seed, simBug{}, nil), key: &simKey{}, shipped: shipped}
	for i := range p.tokens {
		p.tokens[i] = store.NewToken()
	}
	return p
}

// step does the same to both, after some time.
func (p *pair) step(t *testing.T) {
	s, ctx := p.s, t.Context()
	wait := s.upTo(2 * time.Second)
	if s.chance(2) {
		wait = s.upTo(30 * time.Hour)
	}
	time.Sleep(wait)
	s.now += wait
	n, k := 1+s.rng.IntN(len(p.tokens)-1), store.Key{Application: "a", Topic: "t", ID: "1"}
	token, ran := p.tokens[n], s.chance(50)
	var got, want any
	var gotErr, wantErr error
	switch s.rng.IntN(10) {
	case 0:
		got = s.store.complete(p.key, n)
		want, wantErr = p.shipped.Complete(ctx, k, token, simKeep)
	case 1:
		gotErr, wantErr = s.store.park(p.key, n), p.shipped.Park(ctx, k, token, simKeep)
	case 2, 3:
		gotErr, wantErr = s.store.release(p.key, n, ran), p.shipped.Release(ctx, k, token, ran)
	case 4, 5:
		gotErr, wantErr = s.store.renew(p.key, n), p.shipped.Renew(ctx, []store.Claim{{Key: k, Token: token}})[0]
	default:
		c := simClaim{n, s.between(time.Second, 5*time.Second), s.between(time.Second, time.Hour), s.rng.IntN(4)}
		got, gotErr = s.store.claim(p.key, c)
		want, wantErr = p.shipped.Claim(ctx, store.ClaimRequest{
			Key: k, Token: token, Lease: c.lease, Horizon: c.horizon, MaxAttempts: c.most, ParkKeep: simKeep,
		})
	}
	if got != want || gotErr != wantErr {
		t.Fatalf("the fake answers %+v, %v; memstore %+v, %v", got, gotErr, want, wantErr)
	}
}
