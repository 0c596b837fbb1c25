package listener

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var (
	// ErrKey is wrapped when a key function fails or panics.
	ErrKey = errors.New("listener: key function failed")

	errRetryLater = errors.New("listener: the callback did not answer ConsumeSuccess")
	errNoRoute    = errors.New("listener: the callback of this topic is not known yet")
	errNotInBatch = errors.New("listener: a copy of this message is in the same batch")
)

// item is one message of a batch on its way to an outcome.
type item struct {
	msg      *primitive.MessageExt
	delivery dedup.Delivery
	route    *route
	leader   *item // the first message of the batch with the same key, when that is another
	next     *item // an earlier message of the batch with the same ID, whatever its key
	result   dedup.Result
	moved    bool // a copy was published elsewhere: this one may be acknowledged
}

// finished reports whether the message may be acknowledged.
func (it *item) finished() bool { return it.result.Outcome.Finished() || it.moved }

// settled reports whether there is nothing to deliver: it has its outcome, or
// will have that of its leader.
func (it *item) settled() bool { return it.leader != nil || it.result.Outcome != 0 }

// dead reports whether no retry can mend the message.
func (it *item) dead() bool {
	return dedup.IsPermanent(it.result.Err) || errors.Is(it.result.Err, dedup.ErrParked)
}

// consume ends every message of a batch, and the batch. drained tells that a
// message was cut off by a drain and must not be answered before the consumer
// has stopped: the answer would cost it a retry.
func (l *DedupConcurrentListener) consume(
	ctx context.Context, msgs []*primitive.MessageExt,
) (_ consumer.ConsumeResult, drained bool) {
	items := l.items(ctx, msgs)
	l.deliver(ctx, items)
	drained = l.insist(ctx, items)
	for _, it := range items {
		l.follow(ctx, it)
	}
	result := l.verdict(ctx, items)
	return result, drained || result != consumer.ConsumeSuccess && (l.gate.life.Err() != nil || heldUp(items))
}

// heldUp reports whether a message waited for something when the drain began.
func heldUp(items []*item) bool {
	return slices.ContainsFunc(items, func(it *item) bool { return errors.Is(it.result.Err, dedup.ErrDraining) })
}

// items finds the key and the callback of every message. A message without
// either is deferred here.
func (l *DedupConcurrentListener) items(ctx context.Context, msgs []*primitive.MessageExt) []*item {
	all, items := make([]item, len(msgs)), make([]*item, len(msgs))
	for i, m := range msgs {
		it := &all[i]
		items[i], it.msg = it, m
		topic := l.topicOf(m)
		it.route = l.routes.find(topic)
		err := l.address(it, topic)
		if err == nil && it.route == nil {
			err = errNoRoute
		}
		if err != nil {
			l.reject(ctx, it, err)
		}
	}
	if err := l.ownGroup(ctx); err != nil {
		l.rejectAll(ctx, items, err)
	}
	if len(items) > 1 {
		fold(items)
	}
	return items
}

func (l *DedupConcurrentListener) reject(ctx context.Context, it *item, err error) {
	it.result = l.guard.Report(ctx, it.delivery, dedup.Result{Outcome: dedup.Deferred, Err: err})
}

// fold finds the copies inside a batch. It looks by ID, which is quicker than by
// the whole key; keys that share one are rare.
func fold(items []*item) {
	byID := make(map[string]*item, len(items))
	for _, it := range items {
		if it.result.Outcome != 0 {
			continue
		}
		id := it.delivery.Key.ID
		it.next = byID[id]
		for other := it.next; other != nil && it.leader == nil; other = other.next {
			if other.delivery.Key == it.delivery.Key {
				it.leader = other
			}
		}
		if it.leader == nil {
			byID[id] = it
		}
	}
}

// address gives it its delivery. The key is computed once, before anything can
// change the message.
func (l *DedupConcurrentListener) address(it *item, topic string) error {
	r, ok := l.rules[topic]
	if !ok {
		r = l.other
	}
	it.delivery = dedup.Delivery{
		Key:         store.Key{Application: l.options.Application, Topic: topic, Tag: it.msg.GetTags()},
		Policy:      r.policy,
		Redelivered: it.msg.ReconsumeTimes > 0,
	}
	if !ok && len(l.rules) > 0 {
		l.once.warn(l.log, "a topic that Options.Topics does not name takes the settings of all others", it, l.group)
	}
	id, err := callKey(r.key, it.msg)
	if err == nil && id == "" {
		l.once.warn(l.log, "a message has no business key: the default key only catches copies made by the broker", it,
			l.group)
		it.delivery.Fallback = true
		id, err = callKey(DefaultKey(), it.msg)
	}
	if err != nil {
		return fmt.Errorf("%w: message %s: %w", ErrKey, it.msg.MsgId, err)
	}
	it.delivery.Key.ID = id
	return nil
}

func callKey(f KeyFunc, m *primitive.MessageExt) (id string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %w", &dedup.PanicError{Value: v})
		}
	}()
	return f(m)
}

// deliver runs the leaders among items that have no outcome yet.
func (l *DedupConcurrentListener) deliver(ctx context.Context, items []*item) {
	if slices.ContainsFunc(items, (*item).settled) {
		items = slices.DeleteFunc(slices.Clone(items), (*item).settled)
	}
	switch {
	case len(items) == 0:
	case len(items) == 1:
		items[0].result = l.deliverOne(ctx, items[0])
	case slices.ContainsFunc(items, func(it *item) bool { return it.route.runAll != nil || it.route.runTx != nil }):
		l.deliverGroups(ctx, items)
	default:
		l.deliverEach(ctx, items)
	}
}

// deliverGroups gives the messages of every route to it together.
func (l *DedupConcurrentListener) deliverGroups(ctx context.Context, items []*item) {
	groups := map[*route][]*item{}
	for _, it := range items {
		groups[it.route] = append(groups[it.route], it)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for r, group := range groups {
		wg.Go(func() {
			switch {
			case r.runTx != nil:
				l.deliverTx(ctx, group)
			case r.runAll != nil:
				l.deliverAll(ctx, r, group)
			default:
				l.deliverEach(ctx, group)
			}
		})
	}
}

func (l *DedupConcurrentListener) deliverOne(ctx context.Context, it *item) dedup.Result {
	if it.route.runTx != nil {
		return l.guard.DeliverTx(ctx, it.delivery, func(ctx context.Context, tx *sql.Tx) error {
			return it.route.runTx(ctx, tx, it.msg)
		})
	}
	return l.guard.Deliver(ctx, it.delivery, func(ctx context.Context) error {
		return it.route.runOne(ctx, it.msg)
	})
}

// deliverTx runs each message in a transaction of its own, up to Options.Parallel
// at once.
func (l *DedupConcurrentListener) deliverTx(ctx context.Context, group []*item) {
	slots := make(chan struct{}, max(1, l.options.Parallel))
	var all sync.WaitGroup
	defer all.Wait()
	for _, it := range group {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			it.result = l.deliverOne(ctx, it)
		})
	}
}

func (l *DedupConcurrentListener) deliverEach(ctx context.Context, group []*item) {
	results := l.guard.DeliverEach(ctx, deliveries(group), l.options.Parallel,
		func(ctx context.Context, n int) error { return group[n].route.runOne(ctx, group[n].msg) })
	for i, it := range group {
		it.result = results[i]
	}
}

func (l *DedupConcurrentListener) deliverAll(ctx context.Context, r *route, group []*item) {
	results := l.guard.DeliverTogether(ctx, deliveries(group), func(ctx context.Context, acquired []int) error {
		msgs := make([]*primitive.MessageExt, len(acquired))
		for i, n := range acquired {
			msgs[i] = group[n].msg
		}
		return answer(r.runAll(ctx, msgs...))
	})
	for i, it := range group {
		it.result = results[i]
	}
}

func deliveries(group []*item) []dedup.Delivery {
	ds := make([]dedup.Delivery, len(group))
	for i, it := range group {
		ds[i] = it.delivery
	}
	return ds
}

// answer is the client's pair of results as one error: whatever is not plain
// success is none.
func answer(r consumer.ConsumeResult, err error) error {
	if err == nil && r != consumer.ConsumeSuccess {
		return errRetryLater
	}
	return err
}

// follow gives a copy inside the batch the outcome of its leader.
func (l *DedupConcurrentListener) follow(ctx context.Context, it *item) {
	if it.leader == nil {
		return
	}
	lead := it.leader.result
	r := dedup.Result{Outcome: dedup.Deferred, Err: errNotInBatch, Left: lead.Left}
	switch {
	case lead.Outcome.Finished():
		r = dedup.Result{Outcome: dedup.Skipped}
	case it.leader.dead():
		r.Err = lead.Err
	}
	it.result = l.guard.Report(ctx, it.delivery, r)
	it.moved = it.leader.moved // what was published has the same key
}
