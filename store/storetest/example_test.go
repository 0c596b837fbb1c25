package storetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// A claim whose reply is lost is answered by repeating it with the same token.
func ExampleFlaky() {
	inner, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	faults := &storetest.Faults{}
	s := storetest.Flaky(inner, faults)
	faults.Next(storetest.Claim, storetest.CutAfter)

	r := store.ClaimRequest{
		Key:     store.Key{Application: "billing", Topic: "orders", ID: "A1001"},
		Token:   store.NewToken(),
		Lease:   30 * time.Second,
		Horizon: 3 * time.Hour,
	}
	for range 2 {
		v, err := s.Claim(context.Background(), r)
		fmt.Println(v.State, v.Attempt, err)
	}
	// Output:
	// invalid 0 flaky: claim: the reply was lost (outcome unknown)
	// claimed 1 <nil>
}
