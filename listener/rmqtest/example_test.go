package rmqtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// A program starts a broker, produces to it and consumes with the real client.
func Example() {
	b, err := rmqtest.New(rmqtest.Options{})
	if err != nil {
		panic(err)
	}
	defer b.Close()
	if err := b.Produce("orders", primitive.NewMessage("orders", []byte("two apples"))); err != nil {
		panic(err)
	}
	done := make(chan struct{})
	c, err := consumer.NewPushConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{b.NameServer()}),
		consumer.WithGroupName("billing"),
		consumer.WithInstance("billing-1"),
	)
	if err != nil {
		panic(err)
	}
	err = c.Subscribe("orders", consumer.MessageSelector{},
		func(_ context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, m := range msgs {
				fmt.Printf("delivery %d: %s\n", m.ReconsumeTimes+1, m.Body)
				if m.ReconsumeTimes == 0 {
					return consumer.ConsumeRetryLater, nil
				}
			}
			close(done)
			return consumer.ConsumeSuccess, nil
		})
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		panic(err)
	}
	<-done
	stop(c) // c.Shutdown()
	// Output:
	// delivery 1: two apples
	// delivery 2: two apples
}

// In a test, Start closes the broker when the test ends.
func ExampleStart() {
	testBilling := func(t *testing.T) {
		b := rmqtest.Start(t, rmqtest.Options{Queues: 8})
		order := primitive.NewMessage("orders", []byte("two apples")).WithKeys([]string{"A-1"})
		if err := b.Produce("orders", order); err != nil {
			t.Fatal(err)
		}
		c, err := consumer.NewPushConsumer(consumer.WithNameServer(primitive.NamesrvAddr{b.NameServer()}))
		// … subscribe, start, wait for the effect …
		_, _ = c, err
		if n := len(b.Deliveries("A-1")); n != 1 {
			t.Errorf("delivered %d times", n)
		}
	}
	_ = testBilling
}

// A producer that sees no answer sends again: the message is there twice, with
// one UNIQ_KEY.
func ExampleBroker_DropReplies() {
	b, err := rmqtest.New(rmqtest.Options{})
	if err != nil {
		panic(err)
	}
	defer b.Close()
	p, err := producer.NewDefaultProducer(
		producer.WithNameServer(primitive.NamesrvAddr{b.NameServer()}),
		producer.WithGroupName("shop"),
		producer.WithInstanceName("shop-1"),
		producer.WithSendMsgTimeout(100*time.Millisecond),
	)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		panic(err)
	}
	defer func() { _ = p.Shutdown() }() // the client returns nil, always
	b.DropReplies(rmqtest.SendMessage, 1)
	sent, err := p.SendSync(context.Background(), primitive.NewMessage("orders", []byte("two apples")))
	if err != nil {
		panic(err)
	}
	copies := 0
	for _, m := range b.Messages("orders") {
		if m.MsgId == sent.MsgID {
			copies++
		}
	}
	fmt.Println("copies:", copies)
	// Output: copies: 2
}
