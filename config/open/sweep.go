package open

import (
	"context"
	"fmt"
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// keepSwept removes expired records of s, if c wants it, until stop is called,
// which waits for the end of that.
func keepSwept(s store.Sweeper, c config.Sweep) (stop func(), err error) {
	if !c.Enabled {
		return func() {}, nil
	}
	loop, err := sweep.New(s, sweep.Options{Every: c.Every, Batch: c.Batch, Share: c.Share})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var sweeping sync.WaitGroup
	sweeping.Go(func() { _ = loop.Run(ctx) }) // which fails only when it runs already
	return func() {
		cancel()
		sweeping.Wait()
	}, nil
}
