package rmqtest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// BenchmarkConsume is what the client and the broker take together for a message
// of 100 bytes whose callback does nothing.
func BenchmarkConsume(b *testing.B) {
	broker := rmqtest.Start(b, rmqtest.Options{Queues: 8, MaxBytes: 1 << 30})
	body := make([]byte, 100)
	for range b.N {
		if err := broker.Produce("orders", primitive.NewMessage("orders", body)); err != nil {
			b.Fatal(err)
		}
	}
	var all sync.WaitGroup
	all.Add(b.N)
	b.ResetTimer()
	consume(b, broker, "billing", "orders",
		func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			all.Add(-len(msgs))
			return consumer.ConsumeSuccess, nil
		})
	all.Wait()
}

// BenchmarkProduce is a message that is stored without a producer.
func BenchmarkProduce(b *testing.B) {
	broker := rmqtest.Start(b, rmqtest.Options{MaxBytes: 1 << 20})
	m := message("orders", "A-1", "two apples")
	b.ReportAllocs()
	for range b.N {
		if err := broker.Produce("orders", m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSend is a message that a producer sends and waits for.
func BenchmarkSend(b *testing.B) {
	broker := rmqtest.Start(b, rmqtest.Options{MaxBytes: 1 << 20})
	p := produceWith(b, broker)
	send(b, p, message("orders", "warm-up", ""))
	b.ResetTimer()
	for range b.N {
		send(b, p, message("orders", "A-1", "two apples"))
	}
}
