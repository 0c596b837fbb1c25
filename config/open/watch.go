package open

import (
	"context"
	"errors"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// Watch is the Watch of l if c wants one (store.watch): it returns when ctx ends.
// Otherwise it returns nil at once, and so it does if the store cannot tell, as
// SQLite cannot. Run it beside the consumer.
func Watch(ctx context.Context, c config.Config, l *listener.DedupConcurrentListener) error {
	if !c.Store.Watch {
		return nil
	}
	err := l.Watch(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
