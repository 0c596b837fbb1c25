package rmqtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// pulling is a pull of everything from queue 0 that waits for wait.
func pulling(from int, wait time.Duration, more ...string) map[string]string {
	return about(append([]string{"queueOffset", fmt.Sprint(from), "maxMsgNums", "1000", "sysFlag", "6",
		"subscription", "*", "suspendTimeoutMillis", fmt.Sprint(wait.Milliseconds())}, more...)...)
}

func oneQueue(t *testing.T, o ...rmqtest.Options) *rmqtest.Broker {
	t.Helper()
	b := rmqtest.Start(t, o...)
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPullWaitsForTheNextMessage(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	c := dial(t, b)
	n := c.tell(rmqtest.PullMessage, pulling(0, time.Hour), nil, 0)
	c.ask(rmqtest.MaxOffset, about(), nil) // the pull has been read
	produce(t, b, 1)
	answer := c.read()
	if answer.Opaque != n || answer.Code != 0 || answer.ExtFields["nextBeginOffset"] != "1" {
		t.Fatalf("got %+v, want one message", answer)
	}
	if m := primitive.DecodeMessage(answer.Body); len(m) != 1 || m[0].GetKeys() != "A-0" {
		t.Errorf("got %v", m)
	}
}

func TestPullEndsWithoutAMessageWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	answer := ask(t, oneQueue(t), rmqtest.PullMessage, pulling(0, time.Millisecond), nil)
	if answer.Code != 19 || answer.ExtFields["nextBeginOffset"] != "0" {
		t.Errorf("got %+v, want code 19", answer)
	}
}

func TestPullOutsideTheQueueIsSentToItsEnds(t *testing.T) {
	t.Parallel()
	b := oneQueue(t, rmqtest.Options{MaxBytes: 1000})
	produce(t, b, 20)
	first := offset(t, b, rmqtest.MinOffset)
	if first == 0 {
		t.Fatal("no message was dropped")
	}
	for from, want := range map[int]string{0: fmt.Sprint(first), 21: "20"} {
		answer := ask(t, b, rmqtest.PullMessage, pulling(from, 0), nil)
		if answer.Code != 21 || answer.ExtFields["nextBeginOffset"] != want {
			t.Errorf("from %d: got %+v, want code 21 and %s", from, answer, want)
		}
	}
	if got := code(t, b, rmqtest.QueryOffset, about()); got != 22 {
		t.Errorf("a new group on a queue without its first message: got code %d, want 22", got)
	}
}

func TestPullHoldsNoMoreThan32MessagesOr256KiB(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	produce(t, b, 40)
	big := message("orders", "big", strings.Repeat("x", 200<<10))
	if err := b.Produce("orders", big, big); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int]string{0: "32", 32: "41", 41: "42"} {
		answer := ask(t, b, rmqtest.PullMessage, pulling(from, 0), nil)
		if answer.Code != 0 || answer.ExtFields["nextBeginOffset"] != want {
			t.Errorf("from %d: got code %d and %s, want %s", from, answer.Code, answer.ExtFields["nextBeginOffset"], want)
		}
	}
}

func TestPullCommitsTheOffsetThatItBrings(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	produce(t, b, 5)
	ask(t, b, rmqtest.PullMessage, pulling(5, 0, "sysFlag", "5", "commitOffset", "4"), nil)
	if got := offset(t, b, rmqtest.QueryOffset); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}

func TestPullPassesOverOtherTags(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	produce(t, b, 5)
	answer := ask(t, b, rmqtest.PullMessage, pulling(0, 0, "subscription", "paid"), nil)
	if answer.Code != 20 || answer.ExtFields["nextBeginOffset"] != "5" {
		t.Errorf("got %+v, want code 20 and 5", answer)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	unsubscribed := pulling(0, 0, "sysFlag", "2")
	ending := fields("commitLogOffset", "1", "commitOrRollback", "8", "tranStateTableOffset", "0")
	for name, c := range map[string]struct {
		request rmqtest.Request
		fields  map[string]string
		want    int
	}{
		"unknown request":       {9999, nil, 3},
		"pull of no topic":      {rmqtest.PullMessage, pulling(0, 0, "topic", "none"), 17},
		"pull of no queue":      {rmqtest.PullMessage, pulling(0, 0, "queueId", "1"), 29},
		"pull without offset":   {rmqtest.PullMessage, pulling(0, 0, "queueOffset", "x"), 29},
		"pull unsubscribed":     {rmqtest.PullMessage, unsubscribed, 24},
		"route of no topic":     {rmqtest.GetRoute, fields("topic", "none"), 17},
		"stats of no topic":     {rmqtest.GetTopicStats, fields("topic", "none"), 17},
		"offset of no topic":    {rmqtest.UpdateOffset, about("topic", "none", "commitOffset", "1"), 17},
		"send to a bad topic":   {rmqtest.SendMessage, about("topic", "a b", "bornTimestamp", "1"), 29},
		"send to RocketMQ's":    {rmqtest.SendMessage, about("topic", "TBW102", "bornTimestamp", "1"), 16},
		"send to no queue":      {rmqtest.SendMessage, about("queueId", "1", "bornTimestamp", "1"), 29},
		"send of no body":       {rmqtest.SendMessage, about("bornTimestamp", "1"), 1},
		"empty batch":           {rmqtest.SendBatch, fields("b", "orders", "e", "0", "g", "1"), 1},
		"pull by SQL":           {rmqtest.PullMessage, pulling(0, 0, "expressionType", "SQL92"), 1},
		"send back of nothing":  {rmqtest.SendBack, fields("group", "billing", "offset", "1"), 1},
		"end of no half":        {rmqtest.EndTransaction, ending, 1},
		"members of no group":   {rmqtest.ConsumerIDs, fields("consumerGroup", "none"), 1},
		"heartbeat of nothing":  {rmqtest.Heartbeat, nil, 1},
		"delete RocketMQ's":     {rmqtest.DeleteTopic, fields("topic", "TBW102"), 29},
		"create without a name": {rmqtest.CreateTopic, fields("readQueueNums", "1", "writeQueueNums", "1"), 29},
	} {
		if got := ask(t, b, c.request, c.fields, nil); got.Code != c.want || got.Remark == "" {
			t.Errorf("%s: got code %d (%s), want %d", name, got.Code, got.Remark, c.want)
		}
	}
}

func TestTooLongMessagesAreRefused(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	sending := about("bornTimestamp", "1")
	if got := ask(t, b, rmqtest.SendMessage, sending, make([]byte, 4<<20+1)); got.Code != 13 {
		t.Errorf("a body over 4 MiB: got %+v", got)
	}
	sending["properties"] = strings.Repeat("k\x01v\x02", 10_000)
	if got := ask(t, b, rmqtest.SendMessage, sending, []byte("x")); got.Code != 13 {
		t.Errorf("properties over 32 KiB: got %+v", got)
	}
	if got := offset(t, b, rmqtest.MaxOffset); got != 0 {
		t.Errorf("got %d messages, want none", got)
	}
}

func TestSendOfVersion2IsStored(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	answer := ask(t, b, rmqtest.SendMessageV2, fields("a", "producers", "b", "orders", "e", "0", "f", "0", "g", "1",
		"h", "0", "i", "KEYS\x01A-1\x02UNIQ_KEY\x01U-1\x02", "j", "0"), []byte("one"))
	if answer.Code != 0 || answer.ExtFields["transactionId"] != "U-1" || answer.ExtFields["queueOffset"] != "0" {
		t.Fatalf("got %+v", answer)
	}
	in := newInbox()
	consume(t, b, "billing", "orders", in.accept)
	if m := in.take(t, 1)[0]; m.MsgId != "U-1" || m.OffsetMsgId != answer.ExtFields["msgId"] || string(m.Body) != "one" {
		t.Errorf("got %v", m)
	}
}

func TestOneWayRequestsAreNotAnswered(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	c := dial(t, b)
	c.tell(rmqtest.SendMessage, about("bornTimestamp", "1"), []byte("one"), remoting.IsOneWay)
	n := c.tell(rmqtest.MaxOffset, about(), nil, 0)
	if answer := c.read(); answer.Opaque != n || answer.ExtFields["offset"] != "1" {
		t.Errorf("got %+v, want the answer to the second request alone", answer)
	}
}
