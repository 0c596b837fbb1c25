package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// newKey is a key that no other test uses.
func newKey() store.Key {
	return store.Key{Application: "app", Topic: "orders", Tag: "paid", ID: store.NewToken().String()}
}

func newKeys(n int) []store.Key {
	var keys []store.Key
	for range n {
		keys = append(keys, newKey())
	}
	return keys
}

// request is a claim that does not lapse during a test.
func request(k store.Key, t store.Token) store.ClaimRequest {
	return store.ClaimRequest{Key: k, Token: t, Lease: time.Minute, Horizon: time.Hour}
}

// requests are claims of the keys by new tokens.
func requests(keys []store.Key) []store.ClaimRequest {
	var all []store.ClaimRequest
	for _, k := range keys {
		all = append(all, request(k, store.NewToken()))
	}
	return all
}

// claims wants a claim to be granted as the given attempt.
func claims(t testing.TB, s store.Store, r store.ClaimRequest, attempt int) {
	t.Helper()
	v, err := s.Claim(within(t, ample), r)
	if err != nil || v.State != store.Claimed || v.Attempt != attempt {
		t.Fatalf("claim: got %+v, %v, want claimed attempt %d", v, err, attempt)
	}
}

// claimsAll wants all claims of a batch to be granted.
func claimsAll(t testing.TB, s *mysqlstore.Store, all []store.ClaimRequest) {
	t.Helper()
	for i, a := range s.ClaimBatch(within(t, ample), all) {
		if a.Err != nil || a.Verdict.State != store.Claimed {
			t.Fatalf("claim %d of a batch: got %+v, %v, want claimed", i, a.Verdict, a.Err)
		}
	}
}

// answers wants a claim to be answered with a state other than Claimed.
func answers(t testing.TB, s store.Store, k store.Key, want store.State) store.Verdict {
	t.Helper()
	v, err := s.Claim(within(t, ample), request(k, store.NewToken()))
	if err != nil || v.State != want {
		t.Fatalf("claim: got %+v, %v, want %v", v, err, want)
	}
	return v
}

// completes wants a complete to be answered with want.
func completes(t testing.TB, s store.Store, k store.Key, token store.Token, keep time.Duration, want store.Completion) {
	t.Helper()
	got, err := s.Complete(within(t, ample), k, token, keep)
	if err != nil || got != want {
		t.Fatalf("complete: got %v, %v, want %v", got, err, want)
	}
}

// releases wants a release to be granted.
func releases(t testing.TB, s store.Store, k store.Key, token store.Token) {
	t.Helper()
	if err := s.Release(within(t, ample), k, token, true); err != nil {
		t.Fatal(err)
	}
}

// fails wants an error of a class.
func fails(t testing.TB, what string, err error, want store.Class) {
	t.Helper()
	if err == nil || store.ClassOf(err) != want {
		t.Fatalf("%s: got %v, want an error of class %q", what, err, want)
	}
}

// executes runs a statement behind the store.
func executes(t testing.TB, db *sql.DB, format string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(within(t, ample), fmt.Sprintf(format, args...)); err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// number is what a query of one number says.
func number(t testing.TB, db *sql.DB, format string, args ...any) (n int64) {
	t.Helper()
	if err := db.QueryRowContext(within(t, ample), fmt.Sprintf(format, args...)).Scan(&n); err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return n
}

// briefly calls with a deadline, and wants the call to return soon after it.
func briefly(t testing.TB, d time.Duration, call func(ctx context.Context) error) error {
	t.Helper()
	const late = 2 * time.Second // for a busy machine
	began := time.Now()
	err := call(within(t, d))
	if took := time.Since(began); took > d+late {
		t.Fatalf("a call with %v to go returned after %v: %v", d, took, err)
	}
	return err
}
