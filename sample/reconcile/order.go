package main

import (
	"context"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// publisher sends the message of an order.
type publisher struct{ rocketmq.Producer }

// publish is the Retry of the reconciler, too. A program that needs more than the
// key for the message looks it up by the key.
func (p publisher) publish(ctx context.Context, k store.Key) error {
	_, err := p.SendSync(ctx, primitive.NewMessage(k.Topic, []byte(k.ID)).WithKeys([]string{k.ID}))
	return err
}

// checkOut takes orders as the handler of a web request does: it is no message that
// makes them, so nobody comes again with those that it dies with.
func checkOut(ctx context.Context, s settings, shop *shop, records store.Store) error {
	guard, err := dedup.New(records, dedup.Options{})
	if err != nil {
		return err
	}
	begun := make(chan error)
	orders := 0
	for i := range s.orders {
		if !byCheckOut(i) {
			continue
		}
		orders++
		go func() { // it ends with the process
			_, err := guard.Do(ctx, s.key(i), policy(shop), func(ctx context.Context) error {
				var err error
				if i%8 == 3 { // every other one is applied, and none is marked
					err = shop.apply(ctx, stage.Number(i))
				}
				begun <- err
				<-ctx.Done()
				return ctx.Err()
			})
			begun <- fmt.Errorf("order %d: %w", i, err) // it did not run
		}()
	}
	for range orders {
		if err := <-begun; err != nil {
			return err
		}
	}
	die()
	return nil
}
