package listenertest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
)

const uniqueID = primitive.PropertyUniqueClientMessageIdKeyIndex

// seen is m as a callback sees it.
func seen(c *listenertest.Consumer, m *primitive.MessageExt) (got *primitive.MessageExt) {
	_ = c.Subscribe("orders", consumer.MessageSelector{}, func(_ context.Context,
		msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got = msgs[0]
		return consumer.ConsumeSuccess, nil
	})
	c.Deliver(m)
	return got
}

func TestAMessageHasItsIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &listenertest.Consumer{Group: "billing"}
		c.Message(order("1"))
		sent := order("8").WithTag("eu")
		sent.WithProperty("mine", "x")
		sent.Flag = 3
		m := seen(c, c.Message(sent))
		if m.Topic != "orders" || string(m.Body) != "8" || m.GetKeys() != "8" || m.GetTags() != "eu" ||
			m.GetProperty("mine") != "x" || m.Flag != 3 {
			t.Errorf("what was sent: got %v", m)
		}
		if id := sent.GetProperty(uniqueID); id == "" || m.MsgId != id || m.GetProperty(uniqueID) != id {
			t.Errorf("ids: got %q and %q, want %q", m.MsgId, m.GetProperty(uniqueID), id)
		}
		id, err := primitive.UnmarshalMsgID([]byte(m.OffsetMsgId))
		if err != nil || id.Offset != m.CommitLogOffset || m.CommitLogOffset == 0 || m.QueueOffset != 1 {
			t.Errorf("place: got %+v, %v of %v", id, err, m)
		}
		now := time.Now().UnixMilli()
		if m.BornTimestamp != now || m.StoreTimestamp != now || m.BornHost == "" || m.StoreHost == "" ||
			m.StoreSize == 0 || m.BodyCRC <= 0 || m.ReconsumeTimes != 0 {
			t.Errorf("the rest: got %v", m)
		}
	})
}

func TestARetryKeepsTheMessageAndMovesTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &listenertest.Consumer{Group: "billing"}
		first := c.Message(order("7"))
		time.Sleep(time.Second)
		once := seen(c, c.Retry(first, 5))
		twice := seen(c, c.Retry(once, 0))
		if once.ReconsumeTimes != 1 || twice.ReconsumeTimes != 2 {
			t.Errorf("retries: got %d and %d", once.ReconsumeTimes, twice.ReconsumeTimes)
		}
		for _, m := range []*primitive.MessageExt{once, twice} {
			if m.Topic != "orders" || m.Queue.Topic != "%RETRY%billing" {
				t.Errorf("topics: got %q of %q", m.Topic, m.Queue.Topic)
			}
			if m.MsgId != first.MsgId || m.GetKeys() != "7" || string(m.Body) != "7" ||
				m.BornTimestamp != first.BornTimestamp {
				t.Errorf("what stays: got %v, want that of %v", m, first)
			}
			if m.GetProperty(primitive.PropertyOriginMessageId) != first.OffsetMsgId {
				t.Errorf("origin: got %q, want %q", m.GetProperty(primitive.PropertyOriginMessageId), first.OffsetMsgId)
			}
		}
		if once.OffsetMsgId == first.OffsetMsgId || once.OffsetMsgId == twice.OffsetMsgId ||
			once.StoreTimestamp == first.StoreTimestamp || twice.QueueOffset != 1 {
			t.Errorf("what changes: got %v, %v after %v", once, twice, first)
		}
		level := primitive.PropertyDelayTimeLevel
		if a, b := once.GetProperty(level), twice.GetProperty(level); a != "5" || b != "4" {
			t.Errorf("levels: got %s and %s, want 5 and the broker's 4", a, b)
		}
	})
}

func TestAResendIsAnotherCopyWithTheSameID(t *testing.T) {
	var c listenertest.Consumer
	m := order("7")
	first, again, anew := c.Message(m), c.Message(m), c.Message(order("7"))
	if first.MsgId != again.MsgId || first.OffsetMsgId == again.OffsetMsgId {
		t.Errorf("the same message sent again: got %v after %v", again, first)
	}
	if anew.MsgId == first.MsgId {
		t.Error("a message built anew has the id of the first")
	}
}

func TestAMemberOfABatchSendHasNoUniqueID(t *testing.T) {
	var c listenertest.Consumer
	member := order("7")
	member.Batch = true
	m := c.Message(member)
	if m.GetProperty(uniqueID) != "" || m.MsgId != m.OffsetMsgId {
		t.Errorf("got %v", m)
	}
	key := listener.DefaultKey()
	first, _ := key(m)
	if retried, _ := key(c.Retry(m, 0)); retried != first {
		t.Errorf("default key: got %q for the retry, want %q", retried, first)
	}
}
