package rmqtest_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func playSingle(s *stage) {
	p, in := s.produceWith(), newInbox()
	rich := message(s.topic, "A-0", "two apples").WithTag("paid").WithShardingKey("customer 7")
	rich.WithProperty("colour", "red")
	rich.WithProperty("empty", "")
	rich.Flag = 7
	s.showSent("a message with everything", send(s.t, p, rich))
	s.showSent("a message with nothing", send(s.t, p, primitive.NewMessage(s.topic, []byte("one pear"))))
	s.showSent("a message that is compressed", send(s.t, p, message(s.topic, "A-1", strings.Repeat("plum ", 2000))))
	s.showSent("the first message again", send(s.t, p, rich))
	if err := p.SendOneWay(s.t.Context(), message(s.topic, "A-2", "one way")); err != nil {
		s.t.Fatal(err)
	}
	s.consume(in.accept)
	s.show(in.take(s.t, 5)...)
}

func playGoBatch(s *stage) {
	p, in := s.produceWith(), newInbox()
	batch := []*primitive.Message{
		message(s.topic, "A-0", "two apples").WithTag("paid"), message(s.topic, "A-1", "one pear"),
		message(s.topic, "A-2", "ten plums"),
	}
	sent := send(s.t, p, batch...)
	s.showSent("a batch", sent)
	s.say("  from %d on", sent.QueueOffset)
	s.consume(in.accept)
	s.show(in.take(s.t, 3)...)
}

// The Java client gives each message of a batch a UNIQ_KEY and the batch another.
func playJavaBatch(s *stage) {
	in := newInbox()
	var batch []byte
	for i := range 3 {
		m := message(s.topic, fmt.Sprint("A-", i), fmt.Sprint("body ", i))
		m.WithProperty(primitive.PropertyUniqueClientMessageIdKeyIndex, primitive.CreateUniqID())
		m.WithProperty(primitive.PropertyWaitStoreMsgOk, "true")
		batch = append(batch, producer.MarshalMessageBatch(m)...)
	}
	id := primitive.CreateUniqID()
	answer := s.ask(rmqtest.SendBatch, fields("a", s.group, "b", s.topic, "c", "TBW102", "d", "4", "e", "0", "f", "0",
		"g", strconv.FormatInt(time.Now().UnixMilli(), 10), "h", "0", "i", "UNIQ_KEY\x01"+id+"\x02WAIT\x01true\x02",
		"j", "0", "k", "false", "m", "true", "n", s.brokerName), batch)
	s.say("sent a batch with the id %s: code %d, queue %s at %s, transaction %s", s.id(id), answer.Code,
		answer.ExtFields["queueId"], answer.ExtFields["queueOffset"], s.id(answer.ExtFields["transactionId"]))
	for stored := range strings.SplitSeq(answer.ExtFields["msgId"], ",") {
		s.say("  offset id %s", s.id(stored))
	}
	s.consume(in.accept)
	s.show(in.take(s.t, 3)...)
}

func playTags(s *stage) {
	p, in := s.produceWith(), newInbox()
	for i, tag := range []string{"paid", "", "shipped", "returned", "Paid", "paid || shipped", "paid"} {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), "").WithTag(tag))
	}
	consumeTags(s.t, s, s.group, s.topic, "paid || shipped", in.accept)
	for _, m := range inOrder(in.take(s.t, 3)) {
		s.say("got %s with the tag %s at %d", m.GetKeys(), m.GetTags(), m.QueueOffset)
	}
	in.wantNone(s.t)
}

// A message is stored in its queue when its level's delay is over, whatever was
// sent before it.
func playDelayed(s *stage) {
	p, in := s.produceWith(), newInbox()
	for _, level := range []int{3, 1, 2, 0} {
		m := message(s.topic, fmt.Sprint("level ", level), "").WithDelayTimeLevel(level)
		s.showSent(m.GetKeys(), send(s.t, p, m))
	}
	s.consume(in.accept)
	got := in.take(s.t, 4)
	for _, m := range inOrder(got) {
		level, _ := strconv.Atoi(m.GetProperty(primitive.PropertyDelayTimeLevel)) // 0 if it has none
		late := time.Duration(m.StoreTimestamp-m.BornTimestamp) * time.Millisecond
		s.say("%s is at %d, late enough: %t", m.GetKeys(), m.QueueOffset, level == 0 || late >= s.levels[level-1])
	}
	s.show(got...)
}
