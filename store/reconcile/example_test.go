package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// Two consumers died: one after it had charged, one before.
func Example() {
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	charged := map[string]bool{"A1001": true}
	for _, id := range []string{"A1001", "A1002"} {
		_, _ = records.Claim(ctx, store.ClaimRequest{ // and no more is heard of them
			Key:   store.Key{Application: "billing", Topic: "orders", ID: id},
			Token: store.NewToken(), Lease: time.Millisecond, Horizon: time.Hour,
		})
	}

	r, err := reconcile.New(records, reconcile.Options{
		Application: "billing",
		Verifier: func(_ context.Context, k store.Key) (reconcile.Finding, error) {
			if charged[k.ID] {
				return reconcile.Happened, nil
			}
			return reconcile.NotHappened, nil
		},
		Retry: func(_ context.Context, k store.Key) error {
			fmt.Println("publish", k.ID, "again")
			return nil
		},
		Overdue: 50 * time.Millisecond, // minutes in a program
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(time.Millisecond + 50*time.Millisecond)
	s, err := r.Pass(ctx) // a program calls Run, which makes a pass every minute
	fmt.Println(s.Completed, "completed,", s.Retried, "retried,", err)
	// Output:
	// publish A1002 again
	// 1 completed, 1 retried, <nil>
}
