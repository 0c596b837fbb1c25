package rmqtest_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Every kind of message fails three times: sent back at the level that the broker
// chooses, then at one of the consumer's choice, then to the dead letters.
func playRetries(s *stage) {
	p, in := s.produceWith(), newInbox()
	single := message(s.topic, "single", "two apples").WithTag("paid")
	single.WithProperty("colour", "red")
	send(s.t, p, single)
	send(s.t, p, message(s.topic, "batch 0", ""), message(s.topic, "batch 1", ""))
	send(s.t, p, message(s.topic, "delayed", "").WithDelayTimeLevel(1))
	levels := []int{0, 1, 0}
	s.consume(func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return in.reject(levels[msgs[0].ReconsumeTimes])(ctx, msgs...)
	}, consumer.WithMaxReconsumeTimes(2))
	s.show(in.take(s.t, 12)...)
	s.say("dead letters:")
	s.readDead("single 3", "batch 0 3", "batch 1 3", "delayed 3")
	in.wantNone(s.t)
}

func playRejected(s *stage) {
	p, in := s.produceWith(), newInbox()
	send(s.t, p, message(s.topic, "A-0", "two apples"))
	s.consume(in.reject(-1))
	s.show(in.take(s.t, 1)...)
	s.say("dead letters:")
	s.readDead("A-0 1")
	in.wantNone(s.t)
}

// The broker notes late how a transaction ended. Until then it asks about it, even
// if the producer has told, and each answer delivers the message once more. That
// is left to chance, so that only the first copies are in the trace.
func playTransactions(s *stage) {
	in, k := newInbox(), steadyBank{&bank{first: map[string]primitive.LocalTransactionState{
		"committed": primitive.CommitMessageState, "rolled back": primitive.RollbackMessageState,
		"unknown": primitive.UnkonwnState,
	}}}
	s.consume(firstCopies(in.reject(1)), consumer.WithMaxReconsumeTimes(1))
	p := s.startBank(k)
	for _, key := range []string{"rolled back", "unknown", "committed"} {
		result, err := p.SendMessageInTransaction(s.t.Context(), message(s.topic, key, "").WithTag("paid"))
		if err != nil {
			s.t.Fatal(err)
		}
		s.showSent(key, result.SendResult)
		s.say("  state %d", result.State)
	}
	s.show(in.first(s.t, "committed 0", "committed 1", "unknown 0", "unknown 1")...)
	s.say("the producer was asked: %t", k.checks.Load() > 0)
	s.say("dead letters:")
	s.readDead("committed 2", "unknown 2")
	in.wantNone(s.t)
}

// steadyBank answers as it decided, and decides to commit when it is asked.
type steadyBank struct{ *bank }

func (k steadyBank) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	k.checks.Add(1)
	if k.first[m.GetKeys()] == primitive.RollbackMessageState {
		return primitive.RollbackMessageState
	}
	return primitive.CommitMessageState
}

func (s *stage) startBank(k primitive.TransactionListener) rocketmq.TransactionProducer {
	s.t.Helper()
	p, err := producer.NewTransactionProducer(k, producer.WithNameServer(primitive.NamesrvAddr{s.nameServer}),
		producer.WithGroupName(s.group+"-bank"), producer.WithInstanceName(instance()))
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Shutdown() }) // the client returns nil, always
	return p
}

// firstCopies accepts what has come before.
func firstCopies(cb callback) callback {
	var seen sync.Map
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if _, again := seen.LoadOrStore(deliveryOf(msgs[0]), true); again {
			return consumer.ConsumeSuccess, nil
		}
		return cb(ctx, msgs...)
	}
}

// deliveryOf names a delivery by the message's key and how often it came before.
func deliveryOf(m *primitive.MessageExt) string {
	return fmt.Sprint(m.GetKeys(), " ", m.ReconsumeTimes)
}
