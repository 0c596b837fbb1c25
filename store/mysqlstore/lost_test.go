package mysqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// lossy is a store whose server is behind a proxy. Its pool has a connection.
func lossy(t *testing.T, address string, retries int) (*mysqlstore.Store, *testserver.Proxy) {
	proxy := testserver.NewProxy(t, address)
	db := pool(t, proxy.Addr(), "")
	s := migrated(t, db, mysqlstore.Options{Retries: retries})
	knows(t, s)
	return s, proxy
}

// knows has the pool know every statement, so that the next reply is that of a
// call.
func knows(t *testing.T, s *mysqlstore.Store) {
	t.Helper()
	for range 2 {
		if err := claimAndComplete(s, newKey()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACallWhoseReplyIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		s, proxy := lossy(t, address, 0)
		k, token := newKey(), store.NewToken()
		knows(t, s)
		proxy.CutReplies(1)
		claims(t, s, request(k, token), 1)
		knows(t, s)
		proxy.CutReplies(1)
		if errs := s.Renew(within(t, ample), []store.Claim{{Key: k, Token: token}}); errs[0] != nil {
			t.Fatalf("renew: %v", errs[0])
		}
		knows(t, s)
		proxy.CutReplies(1)
		first, err := s.Fence(within(t, ample), k, token)
		if err != nil {
			t.Fatalf("fence: %v", err)
		}
		if next, err := s.Fence(within(t, ample), k, token); err != nil || next <= first {
			t.Fatalf("fence after %d: got %d, %v, want more", first, next, err)
		}
		knows(t, s)
		proxy.CutReplies(1)
		if err := s.Release(within(t, ample), k, token, false); err != nil {
			t.Fatalf("release: %v", err)
		}
		token = store.NewToken()
		claims(t, s, request(k, token), 1) // the attempt was given back, and once only
		knows(t, s)
		proxy.CutReplies(1)
		completes(t, s, k, token, time.Hour, store.Completed)

		parked, token := newKey(), store.NewToken()
		claims(t, s, request(parked, token), 1)
		knows(t, s)
		proxy.CutReplies(1)
		if err := s.Park(within(t, ample), parked, token, time.Hour); err != nil {
			t.Fatalf("park: %v", err)
		}
		answers(t, s, parked, store.Parked)
	})
}

func TestABatchWhoseReplyIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		s, proxy := lossy(t, address, 0)
		all := requests(newKeys(20))
		knows(t, s)
		proxy.CutReplies(1)
		for i, a := range s.ClaimBatch(within(t, ample), all) {
			if a.Err != nil || a.Verdict.State != store.Claimed || a.Verdict.Attempt != 1 {
				t.Fatalf("claim %d: got %+v, %v, want claimed attempt 1", i, a.Verdict, a.Err)
			}
		}
		proxy.BreakReplies(1)
		for i, a := range s.SettleBatch(within(t, ample), settlements(all)) {
			want := store.Completed
			if i%2 == 1 {
				want = 0 // a release
			}
			if a.Err != nil || a.Completion != want {
				t.Fatalf("settlement %d: got %v, %v, want %v", i, a.Completion, a.Err, want)
			}
		}
		for i, r := range all {
			if i%2 == 1 {
				claims(t, s, request(r.Key, store.NewToken()), 2)
			} else {
				answers(t, s, r.Key, store.Done)
			}
		}
	})
}

// settlements complete and release claims in turns.
func settlements(all []store.ClaimRequest) (settled []store.Settlement) {
	for i, r := range all {
		one := store.Settlement{Claim: store.Claim{Key: r.Key, Token: r.Token}, Ran: true}
		if i%2 == 0 {
			one.Keep = time.Hour
		}
		settled = append(settled, one)
	}
	return settled
}

func TestACallWithoutAnAnswerIsUnknownAndCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	onServers(t, func(t *testing.T, address string) {
		for name, lose := range map[string]func(*testserver.Proxy){
			"reply swallowed":  func(p *testserver.Proxy) { p.SwallowReplies(1) },
			"connection ended": func(p *testserver.Proxy) { p.CutReplies(1) },
			"reply broken off": func(p *testserver.Proxy) { p.BreakReplies(1) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, proxy := lossy(t, address, -1)
				k, token := newKey(), store.NewToken()
				knows(t, s)
				lose(proxy)
				fails(t, "claim", briefly(t, patience, func(ctx context.Context) error {
					_, err := s.Claim(ctx, request(k, token))
					return err
				}), store.Unknown)
				proxy.Heal()
				claims(t, s, request(k, token), 1)

				knows(t, s)
				lose(proxy)
				fails(t, "complete", briefly(t, patience, func(ctx context.Context) error {
					_, err := s.Complete(ctx, k, token, time.Hour)
					return err
				}), store.Unknown)
				proxy.Heal()
				completes(t, s, k, token, time.Hour, store.Completed)

				all := requests(newKeys(5))
				knows(t, s)
				lose(proxy)
				fails(t, "batch", briefly(t, patience, func(ctx context.Context) error {
					return s.ClaimBatch(ctx, all)[4].Err
				}), store.Unknown)
				proxy.Heal()
				claimsAll(t, s, all)
			})
		}
	})
}
