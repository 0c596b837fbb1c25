package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// Two deliveries of one message: the second is refused while the first runs,
// and skipped once it is done.
func Example() {
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	key := store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "A1001"}
	deliver := func(t store.Token) {
		v, err := s.Claim(ctx, store.ClaimRequest{Key: key, Token: t, Lease: 30 * time.Second, Horizon: 3 * time.Hour})
		if err != nil {
			fmt.Println("deliver again:", err)
			return
		}
		fmt.Println(v.State)
	}

	first := store.NewToken()
	deliver(first)
	deliver(store.NewToken())
	fmt.Println(s.Complete(ctx, key, first, 24*time.Hour))
	deliver(store.NewToken())
	// Output:
	// claimed
	// busy
	// completed <nil>
	// done
}
