package listener

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

const (
	retryPrefix = "%RETRY%"
	deadPrefix  = "%DLQ%"

	// lastPoll is how often a waiting message looks at its key at least.
	lastPoll = 5 * time.Second
)

// insist keeps messages out of the dead-letter queue that were deferred for no
// fault of their own on their last delivery: they are published again if there
// is a producer, and otherwise wait for their keys here, up to LastWait. drained
// tells that the wait was ended by a drain.
func (l *DedupConcurrentListener) insist(ctx context.Context, items []*item) (drained bool) {
	var waiting []*item
	for _, it := range items {
		if l.last(it) && l.worthWaiting(it) && !l.republish(ctx, it) {
			waiting = append(waiting, it)
		}
	}
	if len(waiting) == 0 {
		return false
	}
	over, cancel := context.WithTimeout(ctx, l.options.LastWait)
	defer cancel()
	for len(waiting) > 0 {
		switch l.pause(over, waiting) {
		case errClosing:
			return true
		case nil:
			l.again(ctx, over, waiting)
		default:
			l.exhaust(ctx, waiting)
		}
		waiting = slices.DeleteFunc(waiting, func(it *item) bool { return !l.worthWaiting(it) })
	}
	return false
}

var errClosing = errors.New("listener: closing")

// pause waits until one of the keys may be free. Its error tells that there is
// no more time.
func (l *DedupConcurrentListener) pause(over context.Context, waiting []*item) error {
	wait := lastPoll
	for _, it := range waiting {
		if errors.Is(it.result.Err, dedup.ErrBusy) {
			wait = min(wait, max(lateness, it.result.Left))
		}
	}
	next := time.NewTimer(wait)
	defer next.Stop()
	select {
	case <-l.gate.closing:
	case <-over.Done():
	case <-next.C:
	}
	if l.gate.closes() { // first: a drain may be what has ended the time
		return errClosing
	}
	return over.Err()
}

// again delivers the messages once more, waiting no longer than until over ends.
func (l *DedupConcurrentListener) again(ctx, over context.Context, waiting []*item) {
	deadline, _ := over.Deadline()
	left := max(time.Until(deadline), store.MinDuration)
	for _, it := range waiting {
		it.result = dedup.Result{}
		p := &it.delivery.Policy
		p.HoldLimit, p.BusyWait = min(p.HoldLimit, left), min(p.BusyWait, left)
	}
	l.deliver(ctx, waiting)
}

// exhaust gives the messages up.
func (l *DedupConcurrentListener) exhaust(ctx context.Context, waiting []*item) {
	for _, it := range waiting {
		it.result.Err = fmt.Errorf("%w: %w", dedup.ErrExhausted, it.result.Err)
		l.guard.Report(ctx, it.delivery, it.result)
	}
}

// last reports whether sending the message back may bury it. The broker does so
// from the maximum on. When the client's own send-back fails it publishes the
// message with one retry more, which may count against the maximum as well.
func (l *DedupConcurrentListener) last(it *item) bool {
	return it.msg.ReconsumeTimes >= l.options.MaxReconsumeTimes-1
}

// worthWaiting reports whether a later claim may be answered differently.
func (l *DedupConcurrentListener) worthWaiting(it *item) bool {
	if it.leader != nil || it.result.Outcome != dedup.Deferred {
		return false
	}
	err := it.result.Err
	for _, lasting := range []error{ErrKey, ErrGroup, errNoRoute, dedup.ErrParked, dedup.ErrCorrupt, dedup.ErrExhausted} {
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

// bury publishes the dead messages of a batch to the dead-letter queue, because a
// negative level would bury their siblings too. It waits until the siblings are
// finished: as long as one brings the batch back, the dead ones come back with
// it. Without a producer they are deferred until they come back alone.
func (l *DedupConcurrentListener) bury(ctx context.Context, items []*item) {
	alive := func(it *item) bool { return !it.finished() && !it.dead() }
	if l.options.Producer == nil || slices.ContainsFunc(items, alive) {
		return
	}
	for _, it := range items {
		if it.dead() {
			l.move(ctx, it, l.copyOf(it, deadPrefix))
		}
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
	m := primitive.NewMessage(prefix+inNamespace(l.options.Namespace, l.group), it.msg.Body)
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
	if !strings.HasPrefix(it.msg.Topic, retryPrefix) { // else the client did not restore it
		m.WithProperty(primitive.PropertyRetryTopic, it.msg.Topic)
	}
	if it.msg.GetProperty(primitive.PropertyOriginMessageId) == "" {
		m.WithProperty(primitive.PropertyOriginMessageId, it.msg.OffsetMsgId)
	}
	return m
}
