package listener_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	clientproducer "github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// A step books an order and hands it over to the next. The message of the run that
// failed is never seen, and a copy of the order sends none.
func ExampleOutgoing() {
	ctx := context.Background()
	broker, err := rmqtest.New(rmqtest.Options{})
	check(err)
	defer broker.Close()
	check(broker.CreateTopic("shipments", 1))
	dir, err := os.MkdirTemp("", "outgoing-example-")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db"))
	check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (no TEXT)")
	check(err)
	records, err := sqlitestore.New(ctx, db, sqlitestore.Options{})
	check(err)

	l, err := listener.NewDedupConcurrentListener("booking", records, listener.Options{
		Key: listener.KeyFromKeys(), Guard: quiet(),
	})
	check(err)
	out, err := l.Outgoing()
	check(err)
	p, err := rocketmq.NewTransactionProducer(out,
		clientproducer.WithNameServer(primitive.NamesrvAddr{broker.NameServer()}),
		clientproducer.WithGroupName("booking-out"), clientproducer.WithInstanceName("booking-out-1"))
	check(err)
	check(out.Start(ctx, p, "shipments"))
	defer p.Shutdown()

	fails := true
	book := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", m.GetKeys()); err != nil {
			return nil, err
		}
		if fails {
			fails = false
			return nil, fmt.Errorf("out of luck")
		}
		next := primitive.NewMessage("shipments", []byte("ship it")).WithKeys([]string{m.GetKeys()})
		return []*primitive.Message{next}, nil
	}
	callback := l.Tx(out.Step(p, book)) // or l.SubscribeTx(pushConsumer, "orders", selector, out.Step(p, book))

	// The broker delivers the message, again because it failed, and a copy of it.
	for range 3 {
		result, _ := callback(ctx, orderMessage("A-1"))
		fmt.Println("acknowledged:", result == consumer.ConsumeSuccess)
	}
	var orders int
	check(db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&orders))
	// The broker has been told, and publishes.
	for limit := time.Now().Add(10 * time.Second); len(broker.Messages("shipments")) == 0 && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("orders:", orders, "shipments:", len(broker.Messages("shipments")))
	// Output:
	// acknowledged: false
	// acknowledged: true
	// acknowledged: true
	// orders: 1 shipments: 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
