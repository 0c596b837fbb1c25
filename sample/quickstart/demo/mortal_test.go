package demo

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestADeadConsumerLeavesItsClaimsAsTheyAre(t *testing.T) {
	t.Parallel()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool
	s, ctx := mortal{records, &gone}, t.Context()
	held := store.Claim{Key: store.Key{Application: "demo", Topic: "orders", ID: "A"}, Token: store.NewToken()}
	request := func(id string, token store.Token) store.ClaimRequest {
		key := store.Key{Application: "demo", Topic: "orders", ID: id}
		return store.ClaimRequest{Key: key, Token: token, Lease: time.Hour, Horizon: time.Hour}
	}
	if v, err := s.Claim(ctx, request("A", held.Token)); err != nil || v.State != store.Claimed {
		t.Fatalf("alive: got %v, %v, want the claim", v, err)
	}
	if err := s.Renew(ctx, []store.Claim{held})[0]; err != nil {
		t.Errorf("alive: renew: %v", err)
	}

	gone.Store(true)
	_, claim := s.Claim(ctx, request("B", store.NewToken()))
	for op, err := range map[string]error{
		"claim":   claim,
		"renew":   s.Renew(ctx, []store.Claim{held})[0],
		"release": s.Release(ctx, held.Key, held.Token, true),
	} {
		if !errors.Is(err, errGone) || store.ClassOf(err) != store.Permanent {
			t.Errorf("dead: %s: got %v, want a permanent refusal", op, err)
		}
	}
	for id, want := range map[string]store.State{"A": store.Busy, "B": store.Claimed} {
		if v, err := records.Claim(ctx, request(id, store.NewToken())); err != nil || v.State != want {
			t.Errorf("the next consumer finds %s: %v, %v, want %v", id, v, err, want)
		}
	}
	if c, err := s.Complete(ctx, held.Key, held.Token, time.Hour); err != nil || c != store.Completed {
		t.Errorf("dead: complete: got %v, %v, want what was charged to be recorded", c, err)
	}
}
