package rmqtest_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// bank decides transactions: by the key at first, later by later.
type bank struct {
	first  map[string]primitive.LocalTransactionState
	later  primitive.LocalTransactionState
	checks atomic.Int64
}

func (k *bank) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	return k.first[m.GetKeys()]
}

func (k *bank) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	k.checks.Add(1)
	return k.later
}

func TestTransactionsAreCommittedRolledBackAndCheckedBack(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t, rmqtest.Options{CheckAfter: 20 * time.Millisecond})
	k := &bank{later: primitive.CommitMessageState, first: map[string]primitive.LocalTransactionState{
		"committed": primitive.CommitMessageState, "rolled back": primitive.RollbackMessageState,
		"unknown": primitive.UnkonwnState,
	}}
	p, err := producer.NewTransactionProducer(k, producer.WithNameServer(primitive.NamesrvAddr{b.NameServer()}),
		producer.WithGroupName("bank"), producer.WithInstanceName(instance()))
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() }) // the client returns nil, always
	ids := map[string]string{}
	for key := range k.first {
		sent, err := p.SendMessageInTransaction(t.Context(), message("orders", key, key))
		if err != nil {
			t.Fatal(err)
		}
		ids[key] = sent.MsgID
	}
	in := newInbox()
	consume(t, b, "billing", "orders", in.accept)
	for _, m := range in.take(t, 2) {
		key := m.GetKeys()
		if key == "rolled back" || m.MsgId != ids[key] || m.TransactionId != ids[key] || string(m.Body) != key {
			t.Errorf("got %v, want the id %s", m, ids[key])
		}
		if m.PreparedTransactionOffset == m.CommitLogOffset || m.GetProperty(primitive.PropertyRealTopic) != "orders" {
			t.Errorf("got %v, want the place of its half", m)
		}
		if checks := m.GetProperty(primitive.PropertyTranscationCheckTimes); (checks != "") != (key == "unknown") {
			t.Errorf("%s: got %q checks", key, checks)
		}
	}
	if k.checks.Load() == 0 {
		t.Error("the producer was never asked")
	}
	in.wantNone(t)
}

func TestProducerIsAskedFifteenTimesAtMost(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t, rmqtest.Options{CheckAfter: time.Millisecond})
	c := dial(t, b)
	beat, err := json.Marshal(map[string]any{
		"clientID": "127.0.0.1@raw", "producerDataSet": []any{map[string]string{"groupName": "bank"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.ask(rmqtest.Heartbeat, nil, beat)
	half := fields("topic", "orders", "queueId", "0", "bornTimestamp", "1", "producerGroup", "bank",
		"properties", "TRAN_MSG\x01true\x02PGROUP\x01bank\x02UNIQ_KEY\x01U-1\x02")
	c.tell(rmqtest.SendMessage, half, []byte("body"), 0)
	var sent, last *remoting.Command
	for asked := 0; asked < 15 || sent == nil; {
		frame := c.read()
		if frame.Flag&remoting.IsResponse != 0 {
			sent = frame
			continue
		}
		asked, last = asked+1, frame
		m := primitive.DecodeMessage(frame.Body)[0]
		if frame.Code != 39 || m.Topic != "orders" || m.MsgId != "U-1" || frame.ExtFields["transactionId"] != "U-1" {
			t.Fatalf("got the question %+v about %v", frame, m)
		}
	}
	end := fields("commitLogOffset", last.ExtFields["commitLogOffset"], "commitOrRollback", "8",
		"tranStateTableOffset", last.ExtFields["tranStateTableOffset"], "producerGroup", "bank")
	eventually(t, "the message is given up", func() bool {
		return c.ask(rmqtest.EndTransaction, fields("commitLogOffset", end["commitLogOffset"], "commitOrRollback", "12",
			"tranStateTableOffset", "77", "producerGroup", "bank"), nil).Remark == "Find prepared transaction message failed"
	})
	if answer := c.ask(rmqtest.EndTransaction, end, nil); answer.Code != 1 {
		t.Errorf("got %+v, want a refusal", answer)
	}
	if d := offset(t, b, rmqtest.MaxOffset); d != 0 {
		t.Errorf("got %d messages in the queue, want none", d)
	}
}
