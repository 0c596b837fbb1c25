package main

import (
	"context"
	"errors"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// hand is what people write who need it today: a step in front, a step behind,
// one message after the other. It owns nothing, renews nothing and repeats
// nothing.
func hand(ctx context.Context, s stage, t *tally, p *probe) (listener.Callback, func() error, error) {
	if s.Store == inMySQL {
		o, err := newOriginal(ctx, s, p)
		if err != nil {
			return nil, nil, err
		}
		return byHand(t, o.once), o.db.Close, nil
	}
	client := redis.NewClient(redisOptions(s, p))
	once := func(ctx context.Context, m *primitive.MessageExt, do func() error) error {
		return once(ctx, client, s.Prefix+m.GetKeys(), do)
	}
	return byHand(t, once), client.Close, warm(ctx, client)
}

func byHand(t *tally, once func(context.Context, *primitive.MessageExt, func() error) error) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range msgs {
			if err := once(ctx, m, func() error { return t.handle(ctx, m) }); err != nil {
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}
}

var errConsuming = errors.New("being consumed by another")

// once is SETNX in front and SET behind.
func once(ctx context.Context, client *redis.Client, key string, do func() error) error {
	fresh, err := client.SetNX(ctx, key, "CONSUMING", time.Minute).Result()
	if err != nil {
		return err
	}
	if !fresh {
		state, err := client.Get(ctx, key).Result()
		if err == nil && state != "CONSUMED" {
			err = errConsuming
		}
		return err
	}
	if err := do(); err != nil {
		return errors.Join(err, client.Del(ctx, key).Err())
	}
	return client.Set(ctx, key, "CONSUMED", 24*time.Hour).Err()
}
