package main

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// enter returns the callback of one of our own contenders, and what closes its
// store. Connections to it are open and have shaken hands already.
func enter(ctx context.Context, s stage, t *tally, p *probe) (listener.Callback, func() error, error) {
	switch s.Contender {
	case plainName:
		return plain(t), func() error { return nil }, nil
	case handName:
		client := redis.NewClient(redisOptions(s, p))
		return byHand(client, s.Prefix, t), client.Close, warm(ctx, client)
	case oursName:
		return ours(ctx, s, t, p)
	}
	return nil, nil, fmt.Errorf("contender %q is not known", s.Contender)
}

// plain is a consumer that runs every copy.
func plain(t *tally) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range msgs {
			if err := t.handle(ctx, m); err != nil {
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}
}

// ours is this library as its README recommends it.
func ours(ctx context.Context, s stage, t *tally, p *probe) (listener.Callback, func() error, error) {
	records, closeStore, err := openStore(ctx, s, p)
	if err != nil {
		return nil, nil, err
	}
	l, err := listener.NewDedupConcurrentListener(s.Group, records, listener.Options{
		Key: listener.KeyFromKeys(), BatchSize: s.Batch,
	})
	if err != nil {
		return nil, nil, err
	}
	return l.Each(t.handle), closeStore, nil
}

func openStore(ctx context.Context, s stage, p *probe) (store.Store, func() error, error) {
	if s.Store == inMemory {
		records, err := memstore.New(memstore.Options{})
		return records, func() error { return nil }, err
	}
	o := redisOptions(s, p)
	o.ContextTimeoutEnabled, o.ReadTimeout = true, time.Second
	client := redis.NewClient(o)
	records, err := redisstore.New(client, redisstore.Options{Prefix: s.Prefix})
	if err == nil {
		err = warm(ctx, client)
	}
	return records, client.Close, err
}

// redisOptions are the same for all that use Redis: no callback waits for a
// connection, and none for what only RESP3 has.
func redisOptions(s stage, p *probe) *redis.Options {
	return &redis.Options{Addr: s.Redis, PoolSize: s.Callbacks, Protocol: 2, Dialer: p.trips.dial}
}

// warm opens every connection of the pool.
func warm(ctx context.Context, client *redis.Client) error {
	for range client.Options().PoolSize {
		conn := client.Conn()
		defer conn.Close()
		if err := conn.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	return nil
}
