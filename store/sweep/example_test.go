package sweep_test

import (
	"context"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// backlog is a store with so many expired records.
type backlog struct {
	records int
	empty   context.CancelFunc
}

func (b *backlog) Sweep(_ context.Context, limit int) (int, error) {
	n := min(limit, b.records)
	if b.records -= n; b.records == 0 {
		b.empty()
	}
	return n, nil
}

// A loop runs for as long as the program. Here the program ends with the
// backlog.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	loop, err := sweep.New(&backlog{records: 1200, empty: cancel}, sweep.Options{Batch: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loop.Run(ctx))
	s := loop.Stats()
	fmt.Println(s.Removed, "removed in", s.Passes, "pass")
	// Output:
	// <nil>
	// 1200 removed in 1 pass
}
