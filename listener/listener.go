package listener

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Callback is the function type that a push consumer subscribes with.
type Callback = func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// Handler runs one message. nil means that its effect is there; an error means
// that it must run again, unless it is marked by [dedup.Permanent].
//
// The context is cancelled when the claim is lost or over and when a drain runs
// out of time; [dedup.FromContext] and [dedup.Fence] tell about the claim.
type Handler func(context.Context, *primitive.MessageExt) error

// DedupConcurrentListener makes the callbacks of one consumer group run once
// per key. It is safe for concurrent use and starts no goroutine that outlives
// a callback. One listener serves all topics of one push consumer.
type DedupConcurrentListener struct {
	group   string
	options Options
	records store.Store
	guard   *dedup.Guard
	log     *slog.Logger
	gate    *gate
	rules   map[string]rule // by topic
	other   rule            // for topics without their own

	routes routes
	once   notices
}

// rule is how messages of one topic become deliveries.
type rule struct {
	key    KeyFunc
	policy dedup.Policy
}

// NewDedupConcurrentListener returns a listener for the push consumer of group.
// What a consumer of another group gives its callbacks is deferred; see [ErrGroup].
// It reports every bad option at once, logs a warning for every setting that
// fits badly together (see [Options.Warnings]) and does not contact the store.
func NewDedupConcurrentListener(group string, s store.Store, o Options) (*DedupConcurrentListener, error) {
	given := o
	o = o.withDefaults(group)
	if err := o.validate(group, s); err != nil {
		return nil, err
	}
	guard, err := dedup.New(s, o.Guard)
	if err != nil {
		return nil, err
	}
	l := &DedupConcurrentListener{
		group: group, options: o, records: s, guard: guard, log: o.Guard.Logger,
		gate: newGate(), rules: map[string]rule{},
		other: rule{o.Key, o.complete(o.Policy)},
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	for _, t := range o.Topics {
		r := rule{t.Key, o.complete(t.Policy.Over(o.Policy))}
		if r.key == nil {
			r.key = o.Key
		}
		l.rules[t.Name] = r
	}
	for _, w := range given.Warnings() {
		l.log.Warn("dedup: "+w, "consumerGroup", group)
	}
	return l, nil
}

// Subscriber is the part of a push consumer that [DedupConcurrentListener.Subscribe]
// needs; rocketmq.PushConsumer is one.
type Subscriber interface {
	Subscribe(topic string, selector consumer.MessageSelector, f func(context.Context,
		...*primitive.MessageExt) (consumer.ConsumeResult, error)) error
}

// Subscribe subscribes c to topic with Each(h). With a batch size above 1 and
// several topics it is better than doing so by hand: the client gives a retry
// batch of several topics to the callback of the first message, and only a
// listener that knows whose topic is whose can pass the others on. Callbacks
// that were subscribed by hand become known with their first message; until
// then their messages in such a batch are deferred.
func (l *DedupConcurrentListener) Subscribe(
	c Subscriber, topic string, selector consumer.MessageSelector, h Handler,
) error {
	if h == nil {
		return errors.New("listener: subscribe: the handler is nil")
	}
	return l.subscribe(c, topic, selector, &route{runOne: h})
}

// SubscribeTx is Subscribe with Tx(h) instead of Each(h).
func (l *DedupConcurrentListener) SubscribeTx(
	c Subscriber, topic string, selector consumer.MessageSelector, h TxHandler,
) error {
	switch {
	case h == nil:
		return errors.New("listener: subscribe: the handler is nil")
	case !l.guard.Transacts():
		return fmt.Errorf("listener: subscribe to %s: %w", topic, dedup.ErrNoTransactions)
	}
	return l.subscribe(c, topic, selector, &route{runTx: h})
}

func (l *DedupConcurrentListener) subscribe(
	c Subscriber, topic string, selector consumer.MessageSelector, r *route,
) error {
	l.routes.add(r)
	l.routes.set(topic, r)
	if err := c.Subscribe(topic, selector, l.callback(r)); err != nil {
		return fmt.Errorf("listener: subscribe to %s: %w", topic, err)
	}
	return nil
}

// Wrap returns a callback that calls cb once for the messages of a batch that
// nobody has finished or is running, with one answer for all of them: success
// only if cb returns ConsumeSuccess and a nil error. The result can be used
// wherever cb could; it never returns an error.
func (l *DedupConcurrentListener) Wrap(cb Callback) Callback {
	if cb == nil {
		return l.refuse("Wrap was given a nil callback")
	}
	return l.added(&route{runAll: cb, runOne: func(ctx context.Context, m *primitive.MessageExt) error {
		return answer(cb(ctx, m))
	}})
}

// Each returns a callback that calls h once for every message that nobody has
// finished or is running. The messages of a batch run in parallel, up to
// Options.Parallel; each has its own outcome, and those that succeeded are
// skipped when the broker delivers the batch again for the sake of the others.
func (l *DedupConcurrentListener) Each(h Handler) Callback {
	if h == nil {
		return l.refuse("Each was given a nil handler")
	}
	return l.added(&route{runOne: h})
}

// TxHandler handles one message in a transaction that the message's record is
// part of. What it writes through tx is committed when it returns nil, and rolled
// back otherwise. It must do neither itself, nor by statements that commit, such as
// CREATE TABLE: the record would be committed with a part of the work.
type TxHandler func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error

// Tx returns a callback that calls h once for every message, in a transaction of
// its own that is committed together with the message's record: the business
// change is there exactly if the record is. The store must be a
// [store.Transactor], such as mysqlstore, and h must write to the same database
// and through tx only; whatever else it does, such as a call of another service,
// may happen again. The policy counts as [dedup.Guard.DeliverTx] says. sample/orm
// has handlers that write by sqlx and by GORM.
//
// The messages of a batch run in parallel, up to Options.Parallel; each has its
// own outcome.
func (l *DedupConcurrentListener) Tx(h TxHandler) Callback {
	switch {
	case h == nil:
		return l.refuse("Tx was given a nil handler")
	case !l.guard.Transacts():
		return l.refuse("Tx needs a store with transactions, such as mysqlstore")
	}
	return l.added(&route{runTx: h})
}

// Stats returns the gauges of the engine.
func (l *DedupConcurrentListener) Stats() dedup.Stats { return l.guard.Stats() }

// refuse is the callback of a programming error: nothing is acknowledged.
func (l *DedupConcurrentListener) refuse(what string) Callback {
	l.log.Error("dedup: "+what+": every message will be sent back", "consumerGroup", l.group)
	return func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeRetryLater, nil
	}
}

func (l *DedupConcurrentListener) added(r *route) Callback {
	l.routes.add(r)
	return l.callback(r)
}

// callback is the one entrance of the client.
func (l *DedupConcurrentListener) callback(r *route) Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if len(msgs) == 0 || !l.gate.enter() {
			return consumer.ConsumeRetryLater, nil
		}
		growStack(false)
		l.routes.learn(l.topicOf(msgs[0]), r)
		result, drained := l.inside(ctx, msgs)
		if drained {
			<-l.gate.over
		}
		return result, nil
	}
}

func (l *DedupConcurrentListener) inside(
	ctx context.Context, msgs []*primitive.MessageExt,
) (result consumer.ConsumeResult, drained bool) {
	defer l.gate.leave()
	ctx, done := l.gate.attach(ctx)
	defer done()
	return l.consume(ctx, msgs)
}
