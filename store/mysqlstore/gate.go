package mysqlstore

import (
	"context"
	"sync"
	"time"
)

// batches is how many go to the server at a time. More of them do not get there
// sooner: their statements are after the same pages, and wait for these by
// spinning. With 16 a row costs the server up to five times as much as with 4.
const batches = 4

// gate has as many places as batches may be on their way.
type gate chan struct{}

// enter waits for a place and returns what gives it back, which happens by
// itself when the batch is overdue.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	back := sync.OnceFunc(func() { <-g })
	timer := time.AfterFunc(overdue, back)
	return func() {
		timer.Stop()
		back()
	}, nil
}
