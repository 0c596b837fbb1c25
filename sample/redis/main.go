// Command redis shows the main job on real servers: orders are charged by two
// consumers that share their records in Redis, the producer sends many orders
// twice, callbacks fail, and one consumer is restarted in the middle; still every
// order is charged once. Use this when you look for a start to copy from; newConsumer
// is all that an application needs.
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
	"os"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// settings are the flags, and a name that no other run has.
type settings struct {
	namesrv, redis       string
	orders, resend, fail int
	seed                 uint64
	delays               []time.Duration
	name                 string // of topic and group
}

func main() {
	s := settings{name: "sample-" + store.NewToken().String()[:12]}
	flag.StringVar(&s.namesrv, "namesrv", "127.0.0.1:9876", "`host:port` of the RocketMQ name server")
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
	flag.Parse()
	listener.LogTo(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

	books := newLedger(s)
	if err := run(s, books); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(books)
	if books.wrong() {
		os.Exit(1)
	}
}

func run(s settings, books *ledger) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	records, closeRedis, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	defer closeRedis()
	if err := createTopics(ctx, s); err != nil {
		return err
	}
	one, err := newConsumer(s, records, books)
	if err != nil {
		return err
	}
	two, err := newConsumer(s, records, books)
	if err != nil {
		return err
	}
	if err := produce(ctx, s, books); err != nil {
		return err
	}
	if two, err = restart(ctx, two, s, records, books); err != nil {
		return err
	}
	if err := books.await(ctx, books.allDone); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line tells what is missing
	}
	if err := one.shutdown(ctx); err != nil {
		return err
	}
	return two.shutdown(ctx)
}

func createTopics(ctx context.Context, s settings) error {
	servers := []string{s.namesrv}
	if err := listener.CreateTopic(ctx, s.name, 8, servers, listener.TopicOptions{}); err != nil {
		return err
	}
	// Without it the first retry of a new group takes 40 seconds.
	return listener.EnsureRetryTopic(ctx, s.name, servers, listener.TopicOptions{})
}

// restart stops a consumer when half of the orders are charged and starts another.
func restart(
	ctx context.Context, m *member, s settings, records store.Store, books *ledger,
) (*member, error) {
	if err := books.await(ctx, books.halfDone); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "half of the orders are charged: restarting the second consumer")
	if err := m.shutdown(ctx); err != nil {
		return nil, err
	}
	return newConsumer(s, records, books)
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

// member is one consumer of the group.
type member struct {
	*listener.DedupConcurrentListener
	client rocketmq.PushConsumer
}

// batch is how many messages the client gives to the listener at once, which
// claims them in one call. It is told to both.
const batch = 32

// newConsumer starts a consumer that charges orders, each once.
func newConsumer(s settings, records store.Store, books *ledger) (*member, error) {
	l, err := listener.NewDedupConcurrentListener(s.name, records, listener.Options{
		Topics: []listener.Topic{{
			Name:   s.name,
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
		consumer.WithGroupName(s.name),
		consumer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
		consumer.WithInstance(store.NewToken().String()), // two that share one disturb each other
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(batch),
		consumer.WithConsumeGoroutineNums(4), // of batches, of which up to 16 messages run at once
	)
	if err != nil {
		return nil, err
	}
	if err := l.Subscribe(c, s.name, consumer.MessageSelector{}, books.charge); err != nil {
		return nil, err
	}
	return &member{l, c}, c.Start()
}

// shutdown lets running callbacks end before the consumer leaves its group, so
// that none of them runs again.
func (m *member) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return m.Shutdown(ctx, m.client)
}

// produce sends every order, and some of them again as new messages.
func produce(ctx context.Context, s settings, books *ledger) error {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{s.namesrv}),
		producer.WithInstanceName(store.NewToken().String()),
	)
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	defer func() { _ = p.Shutdown() }() // it has nothing of ours left
	for _, no := range books.plan() {
		body := fmt.Sprintf(`{"order":{"no":%q},"cents":1999}`, no)
		if _, err := p.SendSync(ctx, primitive.NewMessage(s.name, []byte(body))); err != nil {
			return err
		}
		books.sent++
	}
	return nil
}
