package rmqtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestDelayedMessagesComeInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t, rmqtest.Options{DelayLevels: []time.Duration{
		50 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond,
	}})
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	p, in := produceWith(t, b), newInbox()
	start := time.Now().Truncate(time.Millisecond) // a producer's times have no more
	for _, level := range []int{9, 1, 2, 1} {      // 9 is the highest, 3
		send(t, p, message("orders", fmt.Sprint("level ", level), "").WithDelayTimeLevel(level))
	}
	at := message("orders", "at once", "")
	at.WithDelayTimestamp(start.Add(-time.Hour))
	send(t, p, at)
	timed := message("orders", "at a time", "")
	timed.WithDelayTimestamp(start.Add(250 * time.Millisecond))
	send(t, p, timed)
	consume(t, b, "billing", "orders", in.accept)
	in.take(t, 6)
	want := []struct {
		key   string
		after time.Duration
	}{
		{"at once", 0}, {"level 1", 50}, {"level 1", 50}, {"level 2", 100}, {"level 9", 150}, {"at a time", 250},
	}
	for i, d := range b.DeliveriesTo("billing") {
		if after := d.At.Sub(start); d.Keys != want[i].key || after < want[i].after*time.Millisecond {
			t.Errorf("delivery %d: got %s after %v, want %s after %d ms", i, d.Keys, after, want[i].key, want[i].after)
		}
	}
}

func TestDelayedMessageKeepsItsUniqueKeyAndLevel(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	p, in := produceWith(t, b), newInbox()
	sent := send(t, p, message("orders", "A-1", "one").WithDelayTimeLevel(6))
	consume(t, b, "billing", "orders", in.accept)
	m := in.take(t, 1)[0]
	if m.MsgId != sent.MsgID || m.OffsetMsgId == sent.OffsetMsgID || m.Topic != "orders" {
		t.Errorf("got %v, want the id of %v and a place of its own", m, sent)
	}
	if m.Queue.QueueId != sent.MessageQueue.QueueId {
		t.Errorf("got queue %d, want %d as the producer was told", m.Queue.QueueId, sent.MessageQueue.QueueId)
	}
	if m.GetProperty(primitive.PropertyDelayTimeLevel) != "6" || m.GetProperty(primitive.PropertyRealTopic) != "orders" {
		t.Errorf("got %v, want level and topic among the properties", m)
	}
}
