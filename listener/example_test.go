package listener_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// An existing callback is adopted in one line: wrap it where it is subscribed.
func ExampleDedupConcurrentListener_Wrap() {
	records, _ := memstore.New(memstore.Options{})
	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
		Topics: []listener.Topic{{Name: "orders", Key: listener.KeyFromJSON("order.no")}},
		Guard:  quiet(),
	})
	if err != nil {
		panic(err)
	}
	charge := func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		fmt.Printf("charge %s\n", msgs[0].Body)
		return consumer.ConsumeSuccess, nil
	}
	callback := l.Wrap(charge) // pushConsumer.Subscribe("orders", selector, l.Wrap(charge))

	// The broker delivers the message, and later a copy of it.
	for range 2 {
		result, err := callback(context.Background(), example(`{"order":{"no":7}}`))
		fmt.Println(result == consumer.ConsumeSuccess, err)
	}
	// Output:
	// charge {"order":{"no":7}}
	// true <nil>
	// true <nil>
}

// Each gives every message of a batch its own outcome: the one that failed
// comes back, the others are skipped then.
func ExampleDedupConcurrentListener_Each() {
	records, _ := memstore.New(memstore.Options{})
	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
		Key: listener.KeyFromJSON("no"), BatchSize: 32, Parallel: 1, Guard: quiet(),
	})
	if err != nil {
		panic(err)
	}
	failed := false
	callback := l.Each(func(ctx context.Context, m *primitive.MessageExt) error {
		running, _ := dedup.FromContext(ctx)
		fmt.Println("run", running.Key, "attempt", running.Attempt)
		if running.Key.ID == "2" && !failed {
			failed = true
			return errors.New("warehouse is closed")
		}
		return nil
	})
	batch := []*primitive.MessageExt{example(`{"no":1}`), example(`{"no":2}`), example(`{"no":3}`)}
	for range 2 {
		result, _ := callback(context.Background(), batch...)
		fmt.Println("acknowledged:", result == consumer.ConsumeSuccess)
	}
	// Output:
	// run billing:orders::1 attempt 1
	// run billing:orders::2 attempt 1
	// run billing:orders::3 attempt 1
	// acknowledged: false
	// run billing:orders::2 attempt 2
	// acknowledged: true
}

func example(body string) *primitive.MessageExt {
	m := &primitive.MessageExt{}
	m.Topic, m.Body = "orders", []byte(body)
	return m
}

func quiet() dedup.Options {
	return dedup.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}
