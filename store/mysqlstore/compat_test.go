package mysqlstore_test

import (
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func claimOf(k store.Key, token store.Token) store.ClaimRequest {
	return store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: 3 * time.Hour}
}

func claims(t testing.TB, s store.Store, r store.ClaimRequest, attempt int) {
	t.Helper()
	v, err := s.Claim(within(t, ample), r)
	if err != nil || v.State != store.Claimed || v.Attempt != attempt {
		t.Fatalf("claim of %q: got %+v, %v, want attempt %d", r.Key.ID, v, err, attempt)
	}
}

// answers wants a claim of somebody new to be answered so.
func answers(t testing.TB, s store.Store, k store.Key, want store.State) store.Verdict {
	t.Helper()
	v, err := s.Claim(within(t, ample), claimOf(k, store.NewToken()))
	if err != nil || v.State != want {
		t.Fatalf("claim of %q: got %+v, %v, want %v", k.ID, v, err, want)
	}
	return v
}

func completes(t testing.TB, s store.Store, k store.Key, a store.Token, keep time.Duration, want store.Completion) {
	t.Helper()
	if c, err := s.Complete(within(t, ample), k, a, keep); c != want || err != nil {
		t.Fatalf("complete of %q: got %v, %v, want %v", k.ID, c, err, want)
	}
}

func releases(t testing.TB, s store.Store, k store.Key, a store.Token) {
	t.Helper()
	if err := s.Release(within(t, ample), k, a, true); err != nil {
		t.Fatal(err)
	}
}
