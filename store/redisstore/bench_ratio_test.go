package redisstore_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// BenchmarkAgainstSETNXAndSET compares a claim and its complete with the two
// commands that a consumer without this package sends, SETNX and SET, in turns
// of a few hundred, so that a busy moment of the machine hits all alike. Its
// time is that of the Store; a ratio is how many pairs the Store makes in the
// time of one:
//
//	x-plain          of SETNX and SET, one round trip each
//	x-autopipeline   of SETNX and SET through go-redis's AutoPipeline
//	x-submitted      of the Store's own commands through that AutoPipeline
func BenchmarkAgainstSETNXAndSET(b *testing.B) {
	const callers, turn = 64, 1024
	client := connect(b, storetest.Server(b, "DEDUP_TEST_REDIS"), func(o *redis.Options) { o.PoolSize = callers })
	ours, others := contenders(b, client)
	ratios := map[string][]float64{}
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= turn {
		began := time.Now()
		together(callers, min(left, turn), ours)
		mine := time.Since(began).Seconds()
		b.StopTimer()
		for unit, pair := range others {
			began := time.Now()
			together(callers, min(left, turn), pair)
			ratios[unit] = append(ratios[unit], time.Since(began).Seconds()/mine)
		}
		b.StartTimer()
	}
	for unit, values := range ratios {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

// contenders are pairs of calls on a new key: claim and complete of a Store, and
// what others do, by the unit of the comparison.
func contenders(b *testing.B, client *redis.Client) (ours func(), others map[string]func()) {
	pipeline, err := client.AsyncAutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	s, run := open(b, client), store.NewToken().String()
	var n atomic.Int64
	key := func() store.Key {
		return store.Key{Application: "app", Topic: "orders", Tag: "paid", ID: run + strconv.FormatInt(n.Add(1), 10)}
	}
	return func() { claimThenComplete(b, s, key()) }, map[string]func(){
		"x-plain":        func() { setNXAndSet(b, client, recordName(key())) },
		"x-autopipeline": func() { setNXAndSet(b, pipeline, recordName(key())) },
		"x-submitted":    func() { submit(b, pipeline, recordName(key())) },
	}
}

func claimThenComplete(b *testing.B, s *redisstore.Store, k store.Key) {
	token := store.NewToken()
	bounded(func(ctx context.Context) {
		if v, err := s.Claim(ctx, request(k, token)); err != nil || v.State != store.Claimed {
			b.Errorf("claim: got %v, %v", v, err)
		}
	})
	bounded(func(ctx context.Context) {
		if c, err := s.Complete(ctx, k, token, time.Minute); err != nil || c != store.Completed {
			b.Errorf("complete: got %v, %v", c, err)
		}
	})
}

func setNXAndSet(b *testing.B, client redis.Cmdable, name string) {
	bounded(func(ctx context.Context) {
		if ok, err := client.SetNX(ctx, name, "CONSUMING", time.Minute).Result(); err != nil || !ok {
			b.Errorf("SETNX: got %v, %v", ok, err)
		}
	})
	bounded(func(ctx context.Context) {
		if err := client.Set(ctx, name, "CONSUMED", time.Minute).Err(); err != nil {
			b.Errorf("SET: %v", err)
		}
	})
}

func submit(b *testing.B, pipeline *redis.AutoPipeliner, name string) {
	token := store.NewToken().String()
	value := "P|" + token + "|1|60000|3600000|0"
	bounded(func(ctx context.Context) {
		cmd := redis.NewStringCmd(ctx, "set", name, value, "nx", "get", "px", 3660000)
		if err := pipeline.Submit(ctx, cmd).WaitContext(ctx); err != redis.Nil {
			b.Errorf("claim: got %v", err)
		}
	})
	bounded(func(ctx context.Context) {
		cmd := redis.NewStringCmd(ctx, "set", name, "D|"+token+"|60000", "px", 60000, "get")
		if err := pipeline.Submit(ctx, cmd).WaitContext(ctx); err != nil || cmd.Val() != value {
			b.Errorf("complete: got %v", err)
		}
	})
}

// bounded gives a call the deadline that every call of a consumer has.
func bounded(call func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	call(ctx)
}

// together makes n calls from many callers.
func together(callers, n int, call func()) {
	var all sync.WaitGroup
	var made atomic.Int64
	for range callers {
		all.Go(func() {
			for made.Add(1) <= int64(n) {
				call()
			}
		})
	}
	all.Wait()
}
