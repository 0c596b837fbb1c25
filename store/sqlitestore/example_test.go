package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// What is done stays done when the process starts again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqlitestore-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	key := store.Key{Application: "shipping", Topic: "orders", Tag: "paid", ID: "order-17"}

	for range 2 { // two lives of one process
		records, err := sqlitestore.Open(ctx, filepath.Join(dir, "dedup.db"), sqlitestore.Options{})
		if err != nil {
			log.Fatal(err)
		}
		token := store.NewToken()
		verdict, err := records.Claim(ctx, store.ClaimRequest{
			Key: key, Token: token, Lease: 30 * time.Second, Horizon: 3 * time.Hour,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(verdict.State)
		if verdict.State == store.Claimed {
			if _, err := records.Complete(ctx, key, token, 24*time.Hour); err != nil {
				log.Fatal(err)
			}
		}
		if err := records.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// claimed
	// done
}
