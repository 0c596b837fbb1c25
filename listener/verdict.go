package listener

import (
	"context"
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
	level, unfinished := 0, false
	for _, it := range items {
		if it.finished() {
			continue
		}
		unfinished = true
		level = levels(l.options.DelayLevels).longer(level, l.level(it))
	}
	if !unfinished {
		return consumer.ConsumeSuccess
	}
	if len(items) == 1 && items[0].dead() {
		level = deadLetter
	}
	if orderly, ok := primitive.GetOrderlyCtx(ctx); ok && orderly != nil {
		return l.suspend(orderly)
	}
	if c, ok := primitive.GetConcurrentlyCtx(ctx); ok && c != nil && level != 0 {
		c.DelayLevelWhenNextConsume = level
	}
	return consumer.ConsumeRetryLater
}

// level is the delay that a message asks for: none, the broker's choice, unless
// its key may still be claimed.
func (l *DedupConcurrentListener) level(it *item) int {
	if it.result.Outcome != dedup.Deferred {
		return 0
	}
	return levels(l.options.DelayLevels).forBusy(it.result.Left, it.msg.ReconsumeTimes)
}

// suspend answers an orderly consumer, which is not supported but must not lose
// a message: it forgets the ones that are answered with ConsumeRetryLater.
func (l *DedupConcurrentListener) suspend(ctx *primitive.ConsumeOrderlyContext) consumer.ConsumeResult {
	l.log.Error("dedup: this listener is for concurrent consumers: remove WithConsumerOrder(true)",
		"consumerGroup", l.group)
	ctx.SuspendCurrentQueueTimeMillis = int(time.Second / time.Millisecond)
	return consumer.SuspendCurrentQueueAMoment
}
