//go:build unix

package listener_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// BenchmarkDeliveryWithRedis delivers as the client does: every batch in a new
// goroutine, 64 at once. cpu-ns/op is what a message costs this process.
func BenchmarkDeliveryWithRedis(b *testing.B) {
	const callbacks = 64
	client := redis.NewClient(&redis.Options{
		Addr: storetest.Server(b, "DEDUP_TEST_REDIS"), ContextTimeoutEnabled: true, ReadTimeout: time.Second,
		PoolSize: callbacks, Protocol: 2,
	})
	b.Cleanup(func() { _ = client.Close() })
	records, err := redisstore.New(client, redisstore.Options{Prefix: fmt.Sprintf("bench:%d:", time.Now().UnixNano())})
	if err != nil {
		b.Fatal(err)
	}
	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
		Key: listener.KeyFromKeys(), Policy: dedup.Policy{Keep: 5 * time.Second}, Guard: quiet(), BatchSize: 32,
	})
	if err != nil {
		b.Fatal(err)
	}
	cb := l.Each(func(context.Context, *primitive.MessageExt) error { return nil })
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			msgs := make([]*primitive.MessageExt, b.N+size)
			for i := range msgs {
				msgs[i] = delivered("orders", "1", 0)
				msgs[i].WithKeys([]string{strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(i)})
			}
			b.ReportAllocs()
			b.ResetTimer()
			began := cpuTime()
			asTheClient(callbacks, msgs[:b.N], size, func(ctx context.Context, batch []*primitive.MessageExt) {
				if result, _ := cb(ctx, batch...); result != success {
					b.Error(result)
				}
			})
			b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// asTheClient calls deliver as a push consumer does.
func asTheClient(
	callbacks int, msgs []*primitive.MessageExt, size int, deliver func(context.Context, []*primitive.MessageExt),
) {
	slots := make(chan struct{}, callbacks)
	var all sync.WaitGroup
	for i := 0; i < len(msgs); i += size {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			ctx := primitive.WithConsumerCtx(context.Background(), &primitive.ConsumeMessageContext{})
			ctx = primitive.WithConcurrentlyCtx(ctx, primitive.NewConsumeConcurrentlyContext())
			deliver(ctx, msgs[i:min(i+size, len(msgs))])
		})
	}
	all.Wait()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
