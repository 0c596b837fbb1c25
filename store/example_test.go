package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// The name of a key keeps its parts apart whatever is in them, and stays short.
func ExampleKey_String() {
	fmt.Println(store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "A1001"})
	fmt.Println(store.Key{Application: "billing", Topic: "orders", ID: "paid:A1001"})
	fmt.Println(store.Key{Application: "billing", Topic: "orders", ID: strings.Repeat("A1001", 1000)})
	// Output:
	// billing:orders:paid:A1001
	// billing:orders::paid%3AA1001
	// billing:orders::~4466b3e4307c93baf8c78947f7ed3c4eee2133aab0b9d870631f7c360114858f
}

// One function tells consumers and a reconciler what became of two orders whose
// consumers died: one after it had charged, one before.
func ExampleVerifier() {
	charges := map[string]bool{"A1001": true} // a table of a database in a program
	verify := func(_ context.Context, k store.Key) (store.Finding, error) {
		if charges[k.ID] {
			return store.Happened, nil
		}
		return store.NotHappened, nil
	}

	ctx, quiet := context.Background(), slog.New(slog.DiscardHandler)
	records, _ := memstore.New(memstore.Options{})
	guard, err := dedup.New(records, dedup.Options{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := reconcile.New(records, reconcile.Options{
		Verifier: verify,
		Retry: func(_ context.Context, k store.Key) error {
			fmt.Println("reconciler: publish", k.ID, "again")
			return nil
		},
		Overdue: time.Millisecond, // minutes in a program
		Logger:  quiet,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	order := func(id string) store.Key { return store.Key{Application: "billing", Topic: "orders", ID: id} }
	for _, id := range []string{"A1001", "A1002"} {
		_, _ = records.Claim(ctx, store.ClaimRequest{ // and no more is heard of them
			Key: order(id), Token: store.NewToken(), Lease: time.Millisecond, Horizon: time.Hour,
		})
	}
	time.Sleep(2 * time.Millisecond)

	// The message of the one comes again; that of the other never does.
	outcome, err := guard.Do(ctx, order("A1001"), dedup.Policy{Verifier: verify}, func(context.Context) error {
		fmt.Println("charge again")
		return nil
	})
	fmt.Println("consumer:", outcome, err)
	s, err := r.Pass(ctx)
	fmt.Println("reconciler:", s.Retried, "retried", err)
	// Output:
	// consumer: skipped <nil>
	// reconciler: publish A1002 again
	// reconciler: 1 retried <nil>
}
