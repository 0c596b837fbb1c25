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

// byHand is what people write who need it today: SETNX in front, SET behind,
// one message after the other. It owns nothing, renews nothing and repeats
// nothing.
func byHand(client *redis.Client, prefix string, t *tally) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range msgs {
			if err := once(ctx, client, prefix+m.GetKeys(), func() error { return t.handle(ctx, m) }); err != nil {
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}
}

var errConsuming = errors.New("being consumed by another")

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
