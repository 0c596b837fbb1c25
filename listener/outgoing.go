package listener

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// TransactionProducer sends half messages: what the broker shows to no consumer
// until it is told, or finds out by asking, how the sender's transaction ended.
// rocketmq.TransactionProducer is one.
type TransactionProducer interface {
	// Start connects the producer.
	Start() error
	// SendMessageInTransaction sends the half of m, asks the producer's listener how
	// the transaction ended and tells the broker.
	SendMessageInTransaction(ctx context.Context, m *primitive.Message) (*primitive.TransactionSendResult, error)
}

// StepHandler is a [TxHandler] that also returns the messages for the next step.
// With an error, one marked by [dedup.AlreadyDone] included, nothing is sent: whoever
// finds its effect in place relies on what was handed over together with that.
type StepHandler func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error)

// Outgoing publishes messages exactly if a transaction is committed, so that a
// long chain of work can be split into small ones: each step books, and hands the
// rest over to the next topic. It is the listener of the transactional producer:
//
//	out, err := l.Outgoing()
//	…
//	p, err := rocketmq.NewTransactionProducer(out, producer.WithGroupName("orders-out"), …)
//	…
//	err = out.Start(ctx, p, "shipments")
//	…
//	err = l.SubscribeTx(c, "orders", selector, out.Step(p, book))
//
// The producer needs an instance name of its own, and a group of its own that
// every process of the consumer group has: the broker asks any member of that
// group what became of a message whose sender has died.
//
// Messages are published at least once: a broker may do it several times, as it
// notes late that it has. The next step must be idempotent, by this package and a
// business key that the handler gives to what it returns. They are lost only if the
// broker loses what it has taken, or if a process dies between commit and answer and
// then
//
//   - the database, or all members of the group, are out of reach until the broker
//     gives up asking, which it does transactionCheckMax times, in some 7 minutes by
//     default, and nobody rescues them, as [Outgoing.Rescue] does;
//   - the record is lost, or its keep is over, before anybody asks.
//
// An Outgoing is safe for concurrent use.
type Outgoing struct {
	listener *DedupConcurrentListener
	records  store.Getter
	waiting  sync.Map // *handover, nil for a greeting, by the *primitive.Message on its way
	greeted  sync.Map // topics of Start, and others that a warning has named
}

var _ primitive.TransactionListener = (*Outgoing)(nil)

// Outgoing returns what hands messages over to the next step. The store of l must
// be a [store.Transactor] and a [store.Getter], as mysqlstore and sqlitestore are.
func (l *DedupConcurrentListener) Outgoing() (*Outgoing, error) {
	records, ok := l.records.(store.Getter)
	switch {
	case !l.guard.Transacts():
		return nil, fmt.Errorf("listener: outgoing: %w", dedup.ErrNoTransactions)
	case !ok:
		return nil, errors.New("listener: outgoing: the store is no store.Getter: nobody could tell how a transaction ended")
	}
	return &Outgoing{listener: l, records: records}, nil
}

// Start starts p and has it known to the brokers of the topics that steps hand
// over to, so that they ask it about transactions that others have left open. The
// client tells a broker nothing of itself before it has sent a message: without
// Start a process that has just come up is not asked before its first step ends.
//
// For each topic a message is sent that no consumer will see, and taken back at
// once. The client logs that as an error, which [ClientLogger] mends. An error of
// Start tells that p has not started, that a broker did not take the message, or
// that o is not the listener of p. At least one topic is required; a step that
// sends to another one is warned of.
func (o *Outgoing) Start(ctx context.Context, p TransactionProducer, topics ...string) error {
	switch {
	case p == nil:
		return errors.New("listener: outgoing: start: the producer is nil, want one of rocketmq.NewTransactionProducer")
	case len(topics) == 0:
		return errors.New("listener: outgoing: start: no topics, want those that steps hand over to")
	}
	if err := p.Start(); err != nil {
		return fmt.Errorf("listener: outgoing: start: %w", err)
	}
	for _, topic := range topics {
		if err := o.greet(ctx, p, topic); err != nil {
			return fmt.Errorf("listener: outgoing: start: topic %s: %w", topic, err)
		}
		o.greeted.Store(topic, true)
	}
	return nil
}

// greet sends a message that is taken back.
func (o *Outgoing) greet(ctx context.Context, p TransactionProducer, topic string) error {
	m := primitive.NewMessage(topic, []byte(greeting)) // a broker takes none without a body
	m.WithProperty(markProperty, greeting)
	o.waiting.Store(m, (*handover)(nil))
	_, err := p.SendMessageInTransaction(ctx, m)
	if _, waiting := o.waiting.LoadAndDelete(m); waiting && err == nil {
		return errHalf
	}
	return err
}

// Step returns a handler for [DedupConcurrentListener.Tx] that runs h and hands
// what h returns over to p before the commit. If the broker does not take one of
// them nothing is committed and h runs again, as after any error. Copies of a
// finished message send nothing.
//
// The broker is waited for while the transaction is open, once for all messages
// of h: a millisecond or so in which the row of the record stays locked, and with
// SQLite everybody else who writes waits. The messages have no order among
// themselves, and should have neither a delay nor properties of h's message that
// the client itself has set. p sends copies of them.
func (o *Outgoing) Step(p TransactionProducer, h StepHandler) TxHandler {
	return func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
		next, err := h(ctx, tx, m)
		if err != nil || len(next) == 0 {
			return err
		}
		return o.send(ctx, p, next)
	}
}

// handover is the way of the messages of one transaction. Each has a goroutine
// from its half until the broker has been told, which the delivery waits for.
type handover struct {
	taken chan error // one answer for each message: nil once its half is stored
	over  chan struct{}
	end   dedup.TxEnd // set when over is closed
	all   sync.WaitGroup
}

// send returns when the halves of all messages are stored, or one is not.
func (o *Outgoing) send(ctx context.Context, p TransactionProducer, next []*primitive.Message) error {
	h := &handover{taken: make(chan error, len(next)), over: make(chan struct{})}
	token, err := dedup.AfterTx(ctx, func(end dedup.TxEnd) {
		h.end = end
		close(h.over)
		h.all.Wait()
	})
	running, _ := dedup.FromContext(ctx)
	k := mark{running.Key, token}
	if err == nil && len(k.String()) > maxMark {
		err = fmt.Errorf("the key has %d bytes: it must fit into a property", len(running.Key.ID))
	}
	if err != nil {
		return fmt.Errorf("listener: outgoing: %w", err)
	}
	halves := make([]*primitive.Message, len(next))
	for i, m := range next {
		halves[i] = k.on(m)
	}
	for _, half := range halves {
		o.know(half.Topic)
		o.waiting.Store(half, h)
		h.all.Go(func() { o.pass(ctx, p, half, h) })
	}
	var errs []error
	for range halves {
		errs = append(errs, <-h.taken)
	}
	return errors.Join(errs...)
}

// know warns once of a topic whose brokers Start has not made p known to.
func (o *Outgoing) know(topic string) {
	if _, known := o.greeted.LoadOrStore(topic, true); !known {
		o.listener.log.Warn("dedup: a step hands over to a topic that Outgoing.Start was not given: when this process has"+
			" just come up, its broker does not ask it what became of the messages of one that has died",
			"topic", topic, "consumerGroup", o.listener.group)
	}
}

// pass sends one message and stays in the call until the broker has been told how
// the transaction ended. The client may panic.
func (o *Outgoing) pass(ctx context.Context, p TransactionProducer, half *primitive.Message, h *handover) {
	err := errHalf
	defer func() {
		v := recover()
		if v != nil {
			err = &dedup.PanicError{Value: v}
		}
		if _, waiting := o.waiting.LoadAndDelete(half); waiting {
			h.taken <- fmt.Errorf("listener: outgoing: %w", err)
		} else if v != nil {
			o.listener.log.Error("dedup: the broker was not told how a transaction ended, and will ask", "topic", half.Topic,
				"consumerGroup", o.listener.group, "error", err)
		}
	}()
	if _, errSend := p.SendMessageInTransaction(ctx, half); errSend != nil {
		err = errSend
	}
}

// errHalf is a half message that was sent, but with which nobody came to us.
var errHalf = errors.New("the broker did not store the message safely, or this is not the listener of the producer")

// ExecuteLocalTransaction is for the producer to call: the half message is stored.
// It answers when the transaction has ended. A message that no [Outgoing.Step] has
// sent belongs to no transaction and is rolled back.
func (o *Outgoing) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	v, ok := o.waiting.LoadAndDelete(m)
	if !ok {
		return primitive.RollbackMessageState
	}
	h := v.(*handover)
	if h == nil { // a greeting
		return primitive.RollbackMessageState
	}
	h.taken <- nil
	<-h.over
	switch h.end {
	case dedup.TxCommitted:
		return primitive.CommitMessageState
	case dedup.TxRolledBack:
		return primitive.RollbackMessageState
	}
	return primitive.UnkonwnState
}
