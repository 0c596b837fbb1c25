package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// Tx runs the handler in a transaction of the database that has both its records and
// the orders: an order is there exactly if its record is. With MySQL and MariaDB only
// the constructor of the store differs; sample/orm has handlers that use sqlx and GORM.
func ExampleDedupConcurrentListener_Tx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "listener-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := openOrders(ctx, filepath.Join(dir, "orders.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	records, err := sqlitestore.New(ctx, db, sqlitestore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer records.Close()
	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
		Key: listener.KeyFromJSON("no"), Guard: quiet(),
	})
	if err != nil {
		log.Fatal(err)
	}

	closed := true
	callback := l.Tx(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", m.Body); err != nil {
			return err
		}
		if closed {
			closed = false
			return errors.New("warehouse is closed") // takes the order back
		}
		return nil
	}) // l.SubscribeTx(pushConsumer, "orders", selector, handler)

	// The broker delivers the message, once more because it has failed, and a copy.
	for range 3 {
		result, _ := callback(ctx, example(`{"no":7}`))
		fmt.Println("acknowledged:", result == consumer.ConsumeSuccess, "orders:", countOrders(ctx, db))
	}
	// Output:
	// acknowledged: false orders: 0
	// acknowledged: true orders: 1
	// acknowledged: true orders: 1
}

func openOrders(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(file)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (body BLOB NOT NULL)") // with no index that keeps copies out
	return db, err
}

func countOrders(ctx context.Context, db *sql.DB) (n int) {
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&n); err != nil {
		log.Fatal(err)
	}
	return n
}
