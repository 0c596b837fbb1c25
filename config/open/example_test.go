package open_test

import (
	"context"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
)

func Example() {
	c := config.Default() // or config.Load("consumer.yaml")
	c.Application = "billing"
	c.RocketMQ.Group = "billing"
	c.RocketMQ.NameServers = []string{"127.0.0.1:9876"}
	c.Store.Type = "memory"
	c.Topics = []config.Topic{{Name: "orders", Key: "json:order.no"}}

	ctx := context.Background()
	records, closeRecords, err := open.Store(ctx, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = closeRecords() }() // memory has nothing to fail
	l, err := open.Listener(c, records, open.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	callback := l.Each(func(_ context.Context, m *primitive.MessageExt) error {
		fmt.Printf("charging for %s\n", m.Body)
		return nil
	})
	// The client would call it so, for a message and for the producer's resend.
	for range 2 {
		m := &primitive.MessageExt{Message: *primitive.NewMessage("orders", []byte(`{"order":{"no":"A1"}}`))}
		result, _ := callback(ctx, m) // the error is always nil
		fmt.Println("acknowledged:", result == 0)
	}
	// Output:
	// charging for {"order":{"no":"A1"}}
	// acknowledged: true
	// acknowledged: true
}
