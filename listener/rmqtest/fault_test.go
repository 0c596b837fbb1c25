package rmqtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestDroppedReplyMakesTheProducerSendAgain(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b, producer.WithSendMsgTimeout(100*time.Millisecond)), newInbox()
	send(t, p, message("orders", "warm-up", ""))
	b.DropReplies(rmqtest.SendMessage, 1)
	send(t, p, message("orders", "A-1", "one"))
	consume(t, b, "billing", "orders", in.accept)
	var copies []*primitive.MessageExt
	for _, m := range in.take(t, 3) {
		if m.GetKeys() == "A-1" {
			copies = append(copies, m)
		}
	}
	if len(copies) != 2 || copies[0].MsgId != copies[1].MsgId || copies[0].OffsetMsgId == copies[1].OffsetMsgId {
		t.Errorf("got %v, want two copies with one UNIQ_KEY", copies)
	}
}

func TestDelayedReplyComesLateAndTheNextOneDoesNot(t *testing.T) {
	t.Parallel()
	const late = 200 * time.Millisecond
	b := oneQueue(t)
	b.DelayReplies(rmqtest.MaxOffset, 1, late)
	c, start := dial(t, b), time.Now()
	slow := c.tell(rmqtest.MaxOffset, about(), nil, 0)
	quick := c.tell(rmqtest.MaxOffset, about(), nil, 0)
	if first, second := c.read(), c.read(); first.Opaque != quick || second.Opaque != slow {
		t.Errorf("got the answers %d and %d, want %d and %d", first.Opaque, second.Opaque, quick, slow)
	}
	if took := time.Since(start); took < late {
		t.Errorf("took %v, want %v or more", took, late)
	}
}

func TestMessagesOfADroppedReplyAreNotDelivered(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	produce(t, b, 1)
	b.DropReplies(rmqtest.PullMessage, 1)
	c := dial(t, b)
	c.tell(rmqtest.PullMessage, pulling(0, 0), nil, 0)
	c.ask(rmqtest.MaxOffset, about(), nil)
	if d := b.Deliveries("A-0"); len(d) > 0 {
		t.Errorf("got %v, want no delivery", d)
	}
	c.ask(rmqtest.PullMessage, pulling(0, 0), nil)
	if d := b.DeliveriesTo("billing"); len(d) != 1 || d[0].Keys != "A-0" {
		t.Errorf("got %v, want one delivery", d)
	}
}

func TestRefusedRequestIsNotDone(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	b.RefuseReplies(rmqtest.SendMessage, 1, 14)
	for _, want := range []int{14, 0} {
		if got := ask(t, b, rmqtest.SendMessage, about("bornTimestamp", "1"), []byte("x")); got.Code != want {
			t.Errorf("got %+v, want code %d", got, want)
		}
	}
	if n := offset(t, b, rmqtest.MaxOffset); n != 1 {
		t.Errorf("got %d messages, want 1", n)
	}
}

func TestFaultsWithoutANumberLastUntilTheyAreCleared(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	b.RefuseReplies(rmqtest.MaxOffset, -1, 1)
	for range 3 {
		if got := ask(t, b, rmqtest.MaxOffset, about(), nil); got.Code != 1 {
			t.Errorf("got %+v, want code 1", got)
		}
	}
	b.ClearFaults()
	if got := ask(t, b, rmqtest.MaxOffset, about(), nil); got.Code != 0 {
		t.Errorf("got %+v after clearing", got)
	}
}

func TestRefusedSendBackComesAgainThroughTheClient(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	in := newInbox()
	b.RefuseSendBack(1)
	produce(t, b, 1)
	consume(t, b, "billing", "orders", in.reject(1))
	got := in.take(t, 3)
	if again := got[1]; again.ReconsumeTimes != 1 || again.Topic != "orders" || again.MsgId != got[0].MsgId ||
		again.GetProperty(primitive.PropertyOriginMessageId) != got[0].MsgId {
		t.Errorf("got %v, want the client's own copy", again)
	}
	if last := got[2]; last.ReconsumeTimes != 2 || last.GetProperty(primitive.PropertyDelayTimeLevel) != "1" {
		t.Errorf("got %v, want the broker's copy at level 1", last)
	}
}

func TestCutConnectionsTakeMembersOutOfTheirGroup(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	in := newInbox()
	_, stays := consume(t, b, "billing", "orders", in.accept)
	_, goes := consume(t, b, "billing", "orders", in.accept)
	members := func() string {
		return string(ask(t, b, rmqtest.ConsumerIDs, fields("consumerGroup", "billing"), nil).Body)
	}
	has := func(instance string) bool { return strings.Contains(members(), "@"+instance+`"`) }
	eventually(t, "both members", func() bool { return has(stays) && has(goes) })
	other := dial(t, b)
	eventually(t, "the other alone", func() bool {
		b.CutConnections(goes) // again if it has just sent a heartbeat
		return has(stays) && !has(goes)
	})
	other.ask(rmqtest.MaxOffset, about(), nil)
	b.CutConnections()
	if _, err := other.in.ReadByte(); err == nil {
		t.Error("a connection is still open")
	}
}

func TestDuplicatesHaveOneUniqueKeyAndTwoPlaces(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	b.DuplicateDeliveries(100, 1)
	in := newInbox()
	produce(t, b, 10)
	if err := b.Produce("%DLQ%billing", message("%DLQ%billing", "A-1", "")); err != nil {
		t.Fatal(err)
	}
	if n := len(b.DLQ("billing")); n != 1 {
		t.Errorf("got %d dead letters, want 1", n)
	}
	consume(t, b, "billing", "orders", in.accept)
	places := map[string][]*primitive.MessageExt{}
	for _, m := range in.take(t, 20) {
		places[m.MsgId] = append(places[m.MsgId], m)
	}
	for id, m := range places {
		if len(m) != 2 || m[0].OffsetMsgId == m[1].OffsetMsgId || m[0].Queue.QueueId == m[1].Queue.QueueId ||
			m[0].GetKeys() != m[1].GetKeys() || string(m[0].Body) != string(m[1].Body) {
			t.Errorf("%s: got %v, want two copies in two queues", id, m)
		}
	}
}

func TestSeedDecidesWhatIsDuplicated(t *testing.T) {
	t.Parallel()
	lengths := func(seed uint64) (all []int64) {
		b := oneQueue(t)
		b.DuplicateDeliveries(30, seed)
		for range 50 {
			produce(t, b, 1)
			all = append(all, offset(t, b, rmqtest.MaxOffset))
		}
		return all
	}
	first := lengths(1)
	if copies := first[49] - 50; copies < 5 || copies > 30 {
		t.Errorf("got %d copies of 50 messages at 30 percent", copies)
	}
	if !slices.Equal(first, lengths(1)) {
		t.Error("one seed, two results")
	}
	if slices.Equal(first, lengths(2)) {
		t.Error("two seeds, one result")
	}
}

func TestDuplicatesOfOrderedMessagesStayInTheirQueue(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	b.DuplicateDeliveries(100, 1)
	if err := b.Produce("orders", message("orders", "A-1", "").WithShardingKey("customer")); err != nil {
		t.Fatal(err)
	}
	in := newInbox()
	consume(t, b, "billing", "orders", in.accept)
	if m := in.take(t, 2); m[0].Queue.QueueId != m[1].Queue.QueueId {
		t.Errorf("got queues %d and %d, want one", m[0].Queue.QueueId, m[1].Queue.QueueId)
	}
}
