package redisstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func BenchmarkClaimAndComplete(b *testing.B) {
	each(b, func(b *testing.B, s *redisstore.Store) {
		k, token := newKey(), store.NewToken()
		v, err := s.Claim(b.Context(), request(k, token))
		if err != nil || v.State != store.Claimed {
			b.Errorf("claim: got %v, %v", v, err)
		}
		if c, err := s.Complete(b.Context(), k, token, time.Minute); err != nil || c != store.Completed {
			b.Errorf("complete: got %v, %v", c, err)
		}
	})
}

func BenchmarkClaimOfADoneKey(b *testing.B) {
	k := newKey()
	var once sync.Once
	each(b, func(b *testing.B, s *redisstore.Store) {
		once.Do(func() {
			if _, err := s.Complete(b.Context(), k, store.NewToken(), time.Hour); err != nil {
				b.Error(err)
			}
		})
		v, err := s.Claim(b.Context(), request(k, store.NewToken()))
		if err != nil || v.State != store.Done {
			b.Errorf("claim: got %v, %v", v, err)
		}
	})
}

// each measures do with one caller and with many at once.
func each(b *testing.B, do func(*testing.B, *redisstore.Store)) {
	client := connect(b, storetest.Server(b, "DEDUP_TEST_REDIS"), func(o *redis.Options) { o.PoolSize = 64 })
	s := open(b, client)
	for name, callers := range map[string]int{"1 caller": 1, "64 callers": 64} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var all sync.WaitGroup
			var done atomic.Int64
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					for done.Add(1) <= int64(b.N) {
						do(b, s)
					}
				})
			}
			all.Wait()
		})
	}
}

func BenchmarkRenewOf64(b *testing.B) {
	s := open(b, shared(b))
	var claims []store.Claim
	for range 64 {
		c := store.Claim{Key: newKey(), Token: store.NewToken()}
		if _, err := s.Claim(b.Context(), request(c.Key, c.Token)); err != nil {
			b.Fatal(err)
		}
		claims = append(claims, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Renew(b.Context(), claims) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// 32 claims on new keys and their completes, each in one call.
func BenchmarkClaimAndSettleBatchOf32(b *testing.B) {
	s := open(b, shared(b))
	b.ReportAllocs()
	for b.Loop() {
		requests := batch(32)
		claimsAll(b, s, requests)
		settlesAll(b, s, requests)
	}
}
