package redisstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// batch is some claims of new keys.
func batch(n int) []store.ClaimRequest {
	requests := make([]store.ClaimRequest, n)
	for i := range requests {
		requests[i] = request(newKey(), store.NewToken())
	}
	return requests
}

// ended settles the claims: the even ones are done, the odd ones given back.
func ended(requests []store.ClaimRequest) []store.Settlement {
	settlements := make([]store.Settlement, len(requests))
	for i, r := range requests {
		settlements[i] = store.Settlement{Claim: store.Claim{Key: r.Key, Token: r.Token}, Ran: true}
		if i%2 == 0 {
			settlements[i].Keep = time.Hour
		}
	}
	return settlements
}

// claimsAll wants every claim of a batch to be granted.
func claimsAll(t testing.TB, s *redisstore.Store, requests []store.ClaimRequest) {
	t.Helper()
	for i, got := range s.ClaimBatch(within(t, ample), requests) {
		if got.Err != nil || got.Verdict != (store.Verdict{State: store.Claimed, Attempt: 1}) {
			t.Fatalf("claim %d: got %+v, %v, want claimed attempt 1", i, got.Verdict, got.Err)
		}
	}
}

// settlesAll wants what ended asks for.
func settlesAll(t testing.TB, s *redisstore.Store, requests []store.ClaimRequest) {
	t.Helper()
	for i, got := range s.SettleBatch(within(t, ample), ended(requests)) {
		if want := store.Completion((i + 1) % 2); got.Err != nil || got.Completion != want {
			t.Fatalf("settlement %d: got %v, %v, want %v", i, got.Completion, got.Err, want)
		}
	}
}

// trips counts how often calls on records go to the server, in a pipeline or
// alone.
func trips(client redis.UniversalClient) *atomic.Int64 {
	n := new(atomic.Int64)
	client.AddHook(around{func(error) { n.Add(1) }})
	return n
}

func TestABatchTravelsInOneRoundTrip(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s := open(t, client)
	warm := batch(2) // loads the scripts
	claimsAll(t, s, warm)
	settlesAll(t, s, warm)
	n := trips(client)

	requests := batch(32)
	claimsAll(t, s, requests)
	if n.Load() != 1 {
		t.Errorf("32 claims took %d round trips, want 1", n.Load())
	}
	settlesAll(t, s, requests)
	if n.Load() != 2 {
		t.Errorf("32 settlements took %d round trips, want 1", n.Load()-1)
	}
	if got := s.ClaimBatch(within(t, ample), nil); len(got) != 0 || n.Load() != 2 {
		t.Errorf("an empty batch: got %v after %d round trips, want nothing after none", got, n.Load()-2)
	}
}

func TestABatchSurvivesAScriptFlush(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s := open(t, client)
	for _, flushWithin := range []bool{false, true} {
		requests := batch(5)
		if flushWithin {
			client.AddHook(flusher{around{func(error) {}}})
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		claimsAll(t, s, requests)
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		settlesAll(t, s, requests)
		answers(t, s, requests[0].Key, store.Done)
		claims(t, s, request(requests[1].Key, store.NewToken()), 2)
	}
}

func TestABatchWhoseReplyIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testserver.Proxy){
		"swallowed": func(p *testserver.Proxy) { p.SwallowReplies(1) },
		"cut":       func(p *testserver.Proxy) { p.CutReplies(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, _ := behind(t, nil)
			requests := batch(8)
			lose(p)
			claimsAll(t, s, requests)
			lose(p)
			settlesAll(t, s, requests)
			answers(t, s, requests[0].Key, store.Done)
			claims(t, s, request(requests[1].Key, store.NewToken()), 2)
		})
	}
}

func TestABatchIntoABlackHoleIsUnknownAtItsDeadline(t *testing.T) {
	t.Parallel()
	p, s, _ := behind(t, nil)
	p.BlackHole(true)
	for i, got := range s.ClaimBatch(within(t, 100*time.Millisecond), batch(4)) {
		if got.Verdict.State != 0 || store.ClassOf(got.Err) != store.Unknown {
			t.Errorf("claim %d: got %+v, %v, want an unknown outcome", i, got.Verdict, got.Err)
		}
	}
}
