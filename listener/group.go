package listener

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// ErrGroup is wrapped when the client delivers for another consumer group than
// the listener's. The message is deferred: under the records of the wrong group it
// could pass for done although its own group never ran it.
var ErrGroup = errors.New("listener: delivered for another consumer group")

// ownGroup is nil if the client delivers for the group of l, as far as it tells.
func (l *DedupConcurrentListener) ownGroup(ctx context.Context) error {
	c, ok := primitive.GetConsumerCtx(ctx)
	if !ok || c == nil || c.ConsumerGroup == "" || c.ConsumerGroup == l.group ||
		strings.HasSuffix(c.ConsumerGroup, "%"+l.group) { // the client puts a namespace before it
		return nil
	}
	return fmt.Errorf("%w: %q, not %q: give the listener the group of its push consumer, and each group a listener",
		ErrGroup, c.ConsumerGroup, l.group)
}

// rejectAll defers all of a batch, and says so once for each topic.
func (l *DedupConcurrentListener) rejectAll(ctx context.Context, items []*item, err error) {
	for _, it := range items {
		if it.result.Outcome == 0 {
			l.once.fail(l.log, err, it, l.group)
			l.reject(ctx, it, err)
		}
	}
}
