package redisstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// BenchmarkJavaCompatible claims and completes keys. It takes turns with a
// native store on the same server, and tells its speed as a part of that one's.
func BenchmarkJavaCompatible(b *testing.B) {
	client := connect(b, testserver.Redis(b).Addr(), func(o *redis.Options) { o.PoolSize = 64 })
	stores := [2]*redisstore.Store{openCompat(b, client), open(b, client)}
	for name, callers := range map[string]int{"1 caller": 1, "64 callers": 64} {
		b.Run(name, func(b *testing.B) {
			var took [len(stores)]time.Duration
			const slice = 500
			for begun := 0; begun < b.N; begun += slice {
				for i, s := range stores {
					began := time.Now()
					completeNew(b, s, min(slice, b.N-begun), callers)
					took[i] += time.Since(began)
				}
			}
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "ns/op")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-native")
		})
	}
}

// completeNew does so with n new keys.
func completeNew(b testing.TB, s *redisstore.Store, n, callers int) {
	var all sync.WaitGroup
	var begun atomic.Int64
	for range callers {
		all.Go(func() {
			for begun.Add(1) <= int64(n) {
				k, token := newKey(), store.NewToken()
				if v, err := s.Claim(b.Context(), request(k, token)); err != nil || v.State != store.Claimed {
					b.Errorf("claim: got %v, %v", v, err)
				}
				if c, err := s.Complete(b.Context(), k, token, time.Hour); err != nil || c != store.Completed {
					b.Errorf("complete: got %v, %v", c, err)
				}
			}
		})
	}
	all.Wait()
}
