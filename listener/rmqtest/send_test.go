package rmqtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestSentMessagesArriveAsTheProducerMadeThem(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b), newInbox()
	m := message("orders", "A-1", "one").WithTag("paid")
	m.Flag = 7
	m.WithProperty("colour", "red")
	result := send(t, p, m)
	consume(t, b, "billing", "orders", in.accept)
	got := in.take(t, 1)[0]
	if got.Topic != "orders" || got.GetKeys() != "A-1" || got.GetTags() != "paid" || string(got.Body) != "one" ||
		got.Flag != 7 || got.GetProperty("colour") != "red" || got.ReconsumeTimes != 0 {
		t.Errorf("got %v", got)
	}
	if got.MsgId != result.MsgID || got.OffsetMsgId != result.OffsetMsgID || got.QueueOffset != result.QueueOffset {
		t.Errorf("got ids %s and %s at %d, want those of %v", got.MsgId, got.OffsetMsgId, got.QueueOffset, result)
	}
	if got.StoreHost != b.NameServer() || got.StoreTimestamp < got.BornTimestamp {
		t.Errorf("got stored by %s at %d, born %d", got.StoreHost, got.StoreTimestamp, got.BornTimestamp)
	}
	place, err := primitive.UnmarshalMsgID([]byte(got.OffsetMsgId))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%s:%d", place.Addr, place.Port) != b.NameServer() || place.Offset != got.CommitLogOffset {
		t.Errorf("got place %+v, want %s and %d", place, b.NameServer(), got.CommitLogOffset)
	}
}

func TestBatchOfTheGoClientHasNoUniqueKeys(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b), newInbox()
	var batch []*primitive.Message
	for i := range 5 {
		batch = append(batch, message("orders", fmt.Sprint("A-", i), fmt.Sprint("body ", i)))
	}
	send(t, p, batch...)
	consume(t, b, "billing", "orders", in.accept)
	for i, m := range in.take(t, 5) {
		want := fmt.Sprint("A-", m.QueueOffset)
		if m.MsgId != m.OffsetMsgId || m.GetKeys() != want || string(m.Body) != fmt.Sprint("body ", m.QueueOffset) {
			t.Errorf("message %d: got %v", i, m)
		}
	}
}

func TestOneWayAndAsynchronousSendsArrive(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b), newInbox()
	if err := p.SendOneWay(t.Context(), message("orders", "A-1", "one")); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	err := p.SendAsync(t.Context(), func(_ context.Context, _ *primitive.SendResult, err error) { sent <- err },
		message("orders", "A-2", "two"))
	if err == nil {
		err = <-sent
	}
	if err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", in.accept)
	if got := keysOf(in.take(t, 2)); got["A-1"] != 1 || got["A-2"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestCompressedBodiesArriveWhole(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b), newInbox()
	long := message("orders", "A-1", string(make([]byte, 100_000)))
	send(t, p, long)
	consume(t, b, "billing", "orders", in.accept)
	if got := in.take(t, 1)[0]; len(got.Body) != 100_000 || got.StoreSize > 10_000 {
		t.Errorf("got a body of %d bytes in a message of %d", len(got.Body), got.StoreSize)
	}
}

func TestFirstMessageCreatesItsTopic(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t, rmqtest.Options{Queues: 3})
	send(t, produceWith(t, b), message("orders", "A-1", "one"))
	if n := queues(t, b, "orders"); n != 3 {
		t.Errorf("got %d queues, want 3", n)
	}
}

func TestProducerMayCreateTheDLQ(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p := produceWith(t, b)
	for range 8 { // over all queues that the producer supposes
		send(t, p, message("%DLQ%billing", "A-1", "one"))
	}
	if n := len(b.DLQ("billing")); n != 8 {
		t.Errorf("got %d dead letters, want 8", n)
	}
}

func TestAdminCreatesAndDeletesTopics(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	a := adminOf(t, b)
	err := a.CreateTopic(t.Context(), admin.WithTopicCreate("orders"), admin.WithBrokerAddrCreate(b.NameServer()),
		admin.WithReadQueueNums(6), admin.WithWriteQueueNums(6))
	if err != nil {
		t.Fatal(err)
	}
	if n := queues(t, b, "orders"); n != 6 {
		t.Errorf("got %d queues, want 6", n)
	}
	list, err := a.FetchAllTopicList(t.Context())
	if err != nil || len(list.TopicList) != 1 || list.TopicList[0] != "orders" {
		t.Errorf("got %v, %v, want orders", list, err)
	}
	if err := a.DeleteTopic(t.Context(), admin.WithTopicDelete("orders")); err != nil {
		t.Fatal(err)
	}
	if _, err := adminOf(t, b).FetchPublishMessageQueues(t.Context(), "orders"); err == nil {
		t.Error("the topic is still there")
	}
}

func adminOf(t *testing.T, b *rmqtest.Broker) admin.Admin {
	t.Helper()
	a, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{b.NameServer()})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // the client returns nil, always
	return a
}

// queues asks the name server.
func queues(t *testing.T, b *rmqtest.Broker, topic string) int {
	t.Helper()
	found, err := adminOf(t, b).FetchPublishMessageQueues(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
