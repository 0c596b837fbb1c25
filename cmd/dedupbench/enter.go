package main

import (
	"context"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// enter returns the callback of one of our own contenders, and what closes its
// store. Connections to it are open and have shaken hands already.
func enter(ctx context.Context, s stage, t *tally, p *probe) (listener.Callback, func() error, error) {
	switch s.Contender {
	case plainName:
		return plain(t), func() error { return nil }, nil
	case handName:
		return hand(ctx, s, t, p)
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
	switch s.Store {
	case inRedis:
		return inRedisStore(ctx, s, p)
	case inMySQL:
		return inMySQLStore(ctx, s, p)
	case inSQLite:
		return inSQLiteStore(ctx, s)
	}
	records, err := memstore.New(memstore.Options{})
	return records, func() error { return nil }, err
}
