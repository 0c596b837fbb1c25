package listener

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

const (
	retryPrefix = "%RETRY%"
	deadPrefix  = "%DLQ%"

	// lastPoll is how often a waiting message looks at its key at least.
	lastPoll = 5 * time.Second
)

// insist keeps messages out of the dead-letter queue that were deferred for no
// fault of their own on their last delivery: they are published again if there
// is a producer, and otherwise wait for their keys here, for LastWait in all.
// drained tells that the wait was ended by a drain.
func (l *DedupConcurrentListener) insist(ctx context.Context, items []*item) (drained bool) {
	var over context.Context
	for _, it := range items {
		if !l.last(it) || !l.worthWaiting(it) || l.republish(ctx, it) {
			continue
		}
		if over == nil {
			var cancel context.CancelFunc
			over, cancel = context.WithTimeout(ctx, l.options.LastWait)
			defer cancel()
		}
		for l.worthWaiting(it) && !drained {
			drained = l.awaitKey(ctx, it, over)
		}
	}
	return drained
}

// awaitKey delivers it once more after a while, or gives it up when the time is
// over.
func (l *DedupConcurrentListener) awaitKey(ctx context.Context, it *item, over context.Context) (drained bool) {
	wait := time.NewTimer(max(lateness, min(it.result.Left, lastPoll)))
	defer wait.Stop()
	select {
	case <-l.gate.closing:
		return true
	case <-over.Done():
		it.result.Err = fmt.Errorf("%w: %w", dedup.ErrExhausted, it.result.Err)
		l.guard.Report(ctx, it.delivery, it.result)
	case <-wait.C:
		it.result = l.deliverOne(ctx, it)
	}
	return false
}

// last reports whether sending the message back may bury it. The broker does so
// from the maximum on, and one delivery earlier when the client's own send-back
// fails and it publishes the message instead.
func (l *DedupConcurrentListener) last(it *item) bool {
	return it.msg.ReconsumeTimes >= l.options.MaxReconsumeTimes-1
}

// worthWaiting reports whether a later claim may be answered differently.
func (l *DedupConcurrentListener) worthWaiting(it *item) bool {
	if it.leader != nil || it.result.Outcome != dedup.Deferred {
		return false
	}
	err := it.result.Err
	for _, lasting := range []error{ErrKey, errNoRoute, dedup.ErrParked, dedup.ErrCorrupt, dedup.ErrExhausted} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return true
}

// republish puts a copy into the group's retry topic with all its retries
// ahead. A message without UNIQ_KEY is not moved: the producer would give it
// one, and its default key would change.
func (l *DedupConcurrentListener) republish(ctx context.Context, it *item) bool {
	if l.options.Producer == nil || it.msg.GetProperty(primitive.PropertyUniqueClientMessageIdKeyIndex) == "" {
		return false
	}
	level := levels(l.options.DelayLevels).forBusy(it.result.Left, 0)
	m := l.copyOf(it, retryPrefix)
	m.WithProperty(primitive.PropertyDelayTimeLevel, strconv.Itoa(level))
	return l.move(ctx, it, m)
}

// bury publishes a dead message of a batch to the dead-letter queue, because a
// negative level would bury its siblings too. Without a producer it is deferred
// until it comes back alone.
func (l *DedupConcurrentListener) bury(ctx context.Context, it *item) {
	if l.options.Producer != nil {
		l.move(ctx, it, l.copyOf(it, deadPrefix))
	}
}

func (l *DedupConcurrentListener) move(ctx context.Context, it *item, m *primitive.Message) bool {
	if _, err := l.options.Producer.SendSync(context.WithoutCancel(ctx), m); err != nil {
		l.log.ErrorContext(ctx, "dedup: publishing a copy failed", "topic", m.Topic,
			"key", it.delivery.Key.String(), "error", err)
		return false
	}
	it.moved = true
	return true
}

// copyOf is the message as the broker itself would send it back: its identity
// and the user's properties stay, the marks of its last journey do not.
func (l *DedupConcurrentListener) copyOf(it *item, prefix string) *primitive.Message {
	m := primitive.NewMessage(prefix+l.group, it.msg.Body)
	m.Flag = it.msg.Flag
	properties := maps.Clone(it.msg.GetProperties())
	for _, mark := range []string{
		primitive.PropertyDelayTimeLevel, primitive.PropertyRealTopic, primitive.PropertyRealQueueId,
		primitive.PropertyReconsumeTime, primitive.PropertyMaxReconsumeTimes, primitive.PropertyConsumeStartTime,
		primitive.PropertyTransactionPrepared, primitive.PropertyMinOffset, primitive.PropertyMaxOffset,
	} {
		delete(properties, mark)
	}
	m.WithProperties(properties)
	m.WithProperty(primitive.PropertyRetryTopic, it.msg.Topic)
	if it.msg.GetProperty(primitive.PropertyOriginMessageId) == "" {
		m.WithProperty(primitive.PropertyOriginMessageId, it.msg.OffsetMsgId)
	}
	return m
}
