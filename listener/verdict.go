package listener

import (
	"context"
	"slices"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// deadLetter is the delay level that sends a message straight to the
// dead-letter queue.
const deadLetter = -1

// verdict answers for the whole batch, because the client has no other answer:
// one unfinished message brings all of them back, and the finished ones are
// skipped then.
func (l *DedupConcurrentListener) verdict(ctx context.Context, items []*item) consumer.ConsumeResult {
	if len(items) > 1 {
		l.bury(ctx, items)
	}
	if !slices.ContainsFunc(items, func(it *item) bool { return !it.finished() }) {
		return consumer.ConsumeSuccess
	}
	open := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.finished() && !it.result.Unrecorded })
	if orderly, ok := primitive.GetOrderlyCtx(ctx); ok && orderly != nil {
		return l.suspend(orderly)
	}
	if c, ok := primitive.GetConcurrentlyCtx(ctx); ok && c != nil {
		if level := l.level(open, len(items) == 1); level != 0 {
			c.DelayLevelWhenNextConsume = level
		}
	}
	return consumer.ConsumeRetryLater
}

// level is the longest delay that a message asks for: not to come back before
// its key may be free, nor earlier than the broker would send it by itself. An
// unrecorded success that comes back with the others asks for that too. It is 0,
// the broker's or the callback's own choice, if all have failed.
func (l *DedupConcurrentListener) level(open []*item, alone bool) int {
	if alone && open[0].dead() {
		return deadLetter
	}
	deferred := func(it *item) bool { return it.result.Outcome != dedup.Failed }
	if !slices.ContainsFunc(open, deferred) {
		return 0
	}
	table, longest := levels(l.options.DelayLevels), 0
	for _, it := range open {
		longest = table.longer(longest, table.forBusy(it.result.Left, it.msg.ReconsumeTimes))
	}
	return longest
}

// suspend answers an orderly consumer, which is not supported but must not lose
// a message: it forgets the ones that are answered with ConsumeRetryLater.
func (l *DedupConcurrentListener) suspend(ctx *primitive.ConsumeOrderlyContext) consumer.ConsumeResult {
	l.log.Error("dedup: this listener is for concurrent consumers: remove WithConsumerOrder(true)",
		"consumerGroup", l.group)
	ctx.SuspendCurrentQueueTimeMillis = int(time.Second / time.Millisecond)
	return consumer.SuspendCurrentQueueAMoment
}
