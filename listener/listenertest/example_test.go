package listenertest_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// The program under test: consume is what main calls, with a real consumer and a
// real store, and charge what it does with each message.
type payments interface {
	Charge(ctx context.Context, order string) error
}

func consume(c listener.Subscriber, records store.Store, pay payments) error {
	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
		Topics: []listener.Topic{{Name: "orders", Key: listener.KeyFromJSON("order")}},
		Guard:  dedup.Options{Observer: listenertest.Observer(), Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return err
	}
	return l.Subscribe(c, "orders", consumer.MessageSelector{}, func(ctx context.Context, m *primitive.MessageExt) error {
		running, _ := dedup.FromContext(ctx)
		return pay.Charge(ctx, running.Key.ID)
	})
}

// bank is the test's double of the payment service. It marks its effect.
type bank struct {
	run      *listenertest.Run
	repeats  bool // charges again for an order that was charged already
	accounts map[string]int
}

func (b *bank) Charge(ctx context.Context, order string) error {
	return b.run.Effect(ctx, "charge", func() error {
		if b.accounts[order] == 0 || b.repeats {
			b.accounts[order]++
		}
		return nil
	})
}

func (b *bank) check() error {
	if n := b.accounts["7"]; n != 1 {
		return fmt.Errorf("order 7 was charged %d times, want 1", n)
	}
	return nil
}

// A payment service that knows an order again makes the handler safe: whatever
// happens, and wherever, the order is charged once.
func ExampleTestCrashes() {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		b := &bank{run: r, accounts: map[string]int{}}
		r.Start(func(c *listenertest.Consumer, records store.Store) error { return consume(c, records, b) })
		r.Deliver(primitive.NewMessage("orders", []byte(`{"order":7}`)))
		return b.check()
	})
	fmt.Println(err)
	// Output: <nil>
}

// One that charges whenever it is asked is caught, with the crash point and what
// happened there.
func ExampleTestCrashes_chargedTwice() {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		b := &bank{run: r, accounts: map[string]int{}, repeats: true}
		r.Start(func(c *listenertest.Consumer, records store.Store) error { return consume(c, records, b) })
		r.Deliver(primitive.NewMessage("orders", []byte(`{"order":7}`)))
		return b.check()
	}, listenertest.CrashBefore, listenertest.CrashAfter)
	fmt.Println(err)
	// Output:
	// listenertest: crash after "charge": order 7 was charged 2 times, want 1
	// 	delivery 1, process 1: charge, crash, unanswered
	// 	delivery 2, process 2: charge, acknowledged
	// listenertest: crash before complete: order 7 was charged 2 times, want 1
	// 	delivery 1, process 1: charge, crash, unanswered
	// 	delivery 2, process 2: charge, acknowledged
}

// A consumer delivers by hand: a copy of a finished message is acknowledged
// without a call, and the events tell why. What has no usable key is sent back.
func ExampleConsumer() {
	records, _ := memstore.New(memstore.Options{})
	b := &bank{run: new(listenertest.Run), accounts: map[string]int{}}
	var c listenertest.Consumer
	if err := consume(&c, records, b); err != nil {
		panic(err)
	}
	m := c.Message(primitive.NewMessage("orders", []byte(`{"order":7}`)))
	for range 2 {
		a := c.Deliver(m)
		fmt.Println(a, "-", a.Events[0].Outcome)
	}
	fmt.Println(c.Deliver(c.Message(primitive.NewMessage("orders", []byte(`{"order":{}}`)))))
	// Output:
	// acknowledged - ran
	// acknowledged - skipped
	// sent back, level 3
}
