// Command redis shows the main job on real servers: orders are charged by two
// consumers that share their records in Redis, the producer sends many orders
// twice, callbacks fail, and one consumer is restarted in the middle; still every
// order is charged once. Use this when you look for a start to copy from: openStore
// and newConsumer are all that an application needs.
//
//	go run ./sample/redis -namesrv 127.0.0.1:9876 -redis 127.0.0.1:6379
//
// Its last line tells how often callbacks ran, counted outside the store: extra is
// how many charges too many were made, lost is how many orders were never
// charged. If either is not 0 the exit code is 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"
	"github.com/tidwall/gjson"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// settings are the flags. The name of the run is that of topic and group.
type settings struct {
	stage.Run
	redis                string
	orders, resend, fail int
	seed                 uint64
	delays               []time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.redis, "redis", "127.0.0.1:6379", "`host:port` of Redis")
	flag.IntVar(&s.orders, "orders", 200, "how many orders there are")
	flag.IntVar(&s.resend, "resend", 30, "how many messages the producer sends again, in `percent` of the orders")
	flag.IntVar(&s.fail, "fail", 20, "how many orders fail at the first try, in `percent`")
	flag.Uint64Var(&s.seed, "seed", 1, "of what is random: who is sent again, who fails")
	flag.Func("delays", "messageDelayLevel of the broker, if it is not RocketMQ's own", func(text string) error {
		for _, level := range strings.Fields(text) {
			d, err := time.ParseDuration(level)
			if err != nil {
				return err
			}
			s.delays = append(s.delays, d)
		}
		return nil
	})
	stage.Main(func(ctx context.Context, r stage.Run) error {
		s.Run = r
		return run(ctx, s)
	})
}

func run(ctx context.Context, s settings) error {
	records, closeRedis, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	defer closeRedis()
	if err := s.CreateTopics(ctx, s.Name); err != nil {
		return err
	}
	numbers := s.numbers()
	books := stage.NewLedger(numbers, s.failing())
	start := func() (stop func() error, err error) { return newConsumer(s, records, books) }
	send := func() error { return s.Send(ctx, numbers, s.message) }
	if err := books.RestartHalfWay(ctx, start, send); err != nil {
		return err
	}
	return books.Conclude()
}

func openStore(ctx context.Context, s settings) (*redisstore.Store, func(), error) {
	client := redis.NewClient(&redis.Options{
		Addr:                  s.redis,
		ContextTimeoutEnabled: true,
		DialerRetries:         1, // or a refused connection is reported as a deadline
		Protocol:              2, // RESP3 costs more and gives nothing here
		ReadTimeout:           time.Second,
	})
	records, err := redisstore.New(client, redisstore.Options{Prefix: "sample:"})
	if err == nil {
		err = records.Check(ctx)
	}
	return records, func() { _ = client.Close() }, err // nothing is left to be sent
}

// batch is how many messages the client gives to the listener at once, which
// claims them in one call. It is told to both.
const batch = 32

// newConsumer starts a consumer that charges orders, each once, until stop is called.
func newConsumer(s settings, records store.Store, books *stage.Ledger) (stop func() error, err error) {
	l, err := listener.NewDedupConcurrentListener(s.Name, records, listener.Options{
		Topics: []listener.Topic{{
			Name:   s.Name,
			Key:    listener.KeyFromJSON("order.no"), // what makes two messages the same order
			Policy: dedup.Policy{Keep: time.Hour},
		}},
		DelayLevels: s.delays,
		BatchSize:   batch,
		Guard:       dedup.Options{Observer: books, Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return nil, err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithGroupName(s.Name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.NameServer}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(batch),
		consumer.WithConsumeGoroutineNums(4), // of batches, of which up to 16 messages run at once
	)
	if err != nil {
		return nil, err
	}
	charge := func(_ context.Context, m *primitive.MessageExt) error {
		return books.Charge(gjson.GetBytes(m.Body, "order.no").String())
	}
	if err := l.Subscribe(c, s.Name, consumer.MessageSelector{}, charge); err != nil {
		return nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return l.Shutdown(ctx, c) // running callbacks end before the consumer leaves its group
	}
	return stop, c.Start()
}

// numbers are those of every order in turn, and between them those of the last twenty
// that are sent again.
func (s settings) numbers() (numbers []string) {
	random := rand.New(rand.NewPCG(s.seed, 2))
	for i := range s.orders {
		numbers = append(numbers, stage.Number(i))
		if random.IntN(100) < s.resend {
			numbers = append(numbers, stage.Number(max(0, i-random.IntN(20))))
		}
	}
	return numbers
}

// failing are the numbers of orders that fail at the first try.
func (s settings) failing() (numbers []string) {
	random := rand.New(rand.NewPCG(s.seed, 1))
	for i := range s.orders {
		if random.IntN(100) < s.fail {
			numbers = append(numbers, stage.Number(i))
		}
	}
	return numbers
}

func (s settings) message(no string) *primitive.Message {
	return primitive.NewMessage(s.Name, fmt.Appendf(nil, `{"order":{"no":%q},"cents":1999}`, no))
}
