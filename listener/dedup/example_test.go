package dedup_test

import (
	"context"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func Example() {
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		panic(err)
	}
	guard, err := dedup.New(records, dedup.Options{})
	if err != nil {
		panic(err)
	}
	key := store.Key{Application: "billing", Topic: "orders", ID: "order-7"}
	for range 2 { // the broker delivers a copy
		outcome, err := guard.Do(context.Background(), key, dedup.Policy{}, func(context.Context) error {
			fmt.Println("charge order 7")
			return nil
		})
		fmt.Println(outcome, err)
	}
	// Output:
	// charge order 7
	// ran <nil>
	// skipped <nil>
}
