package rmqtest_test

import (
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestMessageSentBackComesAgainWithItsIdentityAndDiesAtTheLimit(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	in := newInbox()
	if err := b.Produce("orders", message("orders", "A-1", "one")); err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", in.reject(0), consumer.WithMaxReconsumeTimes(2))
	got := in.take(t, 3)
	first := got[0]
	for k, m := range got {
		if m.ReconsumeTimes != int32(k) || m.Topic != "orders" || m.MsgId != first.MsgId || string(m.Body) != "one" {
			t.Errorf("delivery %d: got %v", k, m)
		}
		if k == 0 {
			continue
		}
		if m.OffsetMsgId == got[k-1].OffsetMsgId || m.Queue.Topic != "%RETRY%billing" ||
			m.GetProperty(primitive.PropertyOriginMessageId) != first.OffsetMsgId ||
			m.GetProperty(primitive.PropertyRealTopic) != "%RETRY%billing" ||
			m.GetProperty(primitive.PropertyWaitStoreMsgOk) != "false" ||
			m.GetProperty(primitive.PropertyDelayTimeLevel) != []string{"", "3", "4"}[k] {
			t.Errorf("delivery %d: got %v, first was %v", k, m, first)
		}
	}
	eventually(t, "the message in the DLQ", func() bool { return len(b.DLQ("billing")) == 1 })
	dead := b.DLQ("billing")[0]
	if dead.ReconsumeTimes != 3 || dead.Topic != "%DLQ%billing" || dead.MsgId != first.MsgId ||
		dead.GetProperty(primitive.PropertyRetryTopic) != "orders" {
		t.Errorf("got the dead letter %v", dead)
	}
	if n := len(b.Deliveries("A-1")); n != 3 {
		t.Errorf("got %d deliveries, want 3", n)
	}
	in.wantNone(t)
}

func TestDelayLevelOfTheCallbackIsKept(t *testing.T) {
	t.Parallel()
	const long = 300 * time.Millisecond
	b := rmqtest.Start(t, rmqtest.Options{DelayLevels: []time.Duration{time.Millisecond, long}})
	in := newInbox()
	if err := b.Produce("orders", message("orders", "A-1", "one")); err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", in.reject(2), consumer.WithMaxReconsumeTimes(1))
	in.take(t, 2)
	d := b.Deliveries("A-1")
	if gap := d[1].At.Sub(d[0].At); gap < long {
		t.Errorf("came again after %v, want %v or more", gap, long)
	}
}

func TestLevelBelowZeroIsTheDLQAtOnce(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	in := newInbox()
	if err := b.Produce("orders", message("orders", "A-1", "one")); err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", in.reject(-1))
	eventually(t, "the message in the DLQ", func() bool { return len(b.DLQ("billing")) == 1 })
	if n := len(in.take(t, 1)); n != 1 {
		t.Errorf("got %d deliveries", n)
	}
	in.wantNone(t)
}
