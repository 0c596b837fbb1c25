package rmqtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// The client consumes 3 seconds after its start, when it asks for locks again.
func TestOrderlyConsumerGetsMessagesOfAShardInTheirOrder(t *testing.T) {
	t.Parallel()
	skipRacyClient(t, "orderly consumption")
	b := rmqtest.Start(t)
	for i := range 10 {
		for _, customer := range []string{"a", "b"} {
			m := message("orders", fmt.Sprint(customer, i), "").WithShardingKey(customer)
			if err := b.Produce("orders", m); err != nil {
				t.Fatal(err)
			}
		}
	}
	in := newInbox()
	consume(t, b, "billing", "orders", in.accept, consumer.WithConsumerOrder(true))
	next := map[string]int{}
	for _, m := range in.take(t, 20) {
		customer := m.GetShardingKey()
		if want := fmt.Sprint(customer, next[customer]); m.GetKeys() != want {
			t.Fatalf("got %s, want %s", m.GetKeys(), want)
		}
		next[customer]++
	}
}

func TestOrderlyMessageThatFailsTooOftenIsADeadLetter(t *testing.T) {
	t.Parallel()
	skipRacyClient(t, "orderly consumption")
	b := oneQueue(t)
	produce(t, b, 1)
	in := newInbox()
	consume(t, b, "billing", "orders", in.suspend, consumer.WithConsumerOrder(true), consumer.WithMaxReconsumeTimes(2))
	eventually(t, "the dead letter", func() bool { return len(b.DLQ("billing")) == 1 })
	if dead := b.DLQ("billing")[0]; dead.GetKeys() != "A-0" || dead.GetProperty(primitive.PropertyRetryTopic) != "orders" {
		t.Errorf("got %v", dead)
	}
}

func TestOrderedMessagesThatAreSentToTheRetryTopicAreDeadLetters(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	retry := about("topic", "%RETRY%billing", "bornTimestamp", "1", "reconsumeTimes", "1", "maxReconsumeTimes", "16")
	sendToRetry := func() {
		t.Helper()
		if got := ask(t, b, rmqtest.SendMessage, retry, []byte("x")); got.Code != 0 {
			t.Fatalf("got %+v", got)
		}
	}
	sendToRetry()
	lock := `{"consumerGroup":"billing","clientId":"one","mqSet":[{"topic":"orders","brokerName":"rmqtest","queueId":0}]}`
	ask(t, b, rmqtest.LockQueues, nil, []byte(lock))
	sendToRetry()
	retry["maxReconsumeTimes"] = "0"
	ask(t, b, rmqtest.UnlockQueues, nil, []byte(lock))
	sendToRetry()
	if dead, again := len(b.DLQ("billing")), len(b.Messages("%RETRY%billing")); dead != 2 || again != 1 {
		t.Errorf("got %d dead letters and %d retries, want 2 and 1", dead, again)
	}
}

func TestOneMemberAtATimeHoldsTheLockOfAQueue(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t, rmqtest.Options{LockExpiry: 200 * time.Millisecond})
	lock := func(r rmqtest.Request, client string, queues ...int) string {
		body := map[string]any{"consumerGroup": "billing", "clientId": client}
		var set []any
		for _, q := range queues {
			set = append(set, map[string]any{"topic": "orders", "brokerName": "rmqtest", "queueId": q})
		}
		body["mqSet"] = set
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(ask(t, b, r, nil, raw).Body)
	}
	holds := func(client string, queue int) bool {
		return strings.Contains(lock(rmqtest.LockQueues, client, queue), fmt.Sprintf(`"queueId":%d`, queue))
	}
	for range 2 {
		if !holds("one", 0) {
			t.Error("the holder does not hold")
		}
	}
	if holds("two", 0) || !holds("two", 1) {
		t.Error("want queue 0 locked for others and queue 1 free")
	}
	lock(rmqtest.UnlockQueues, "two", 0)
	if holds("two", 0) {
		t.Error("another unlocked the queue")
	}
	lock(rmqtest.UnlockQueues, "one", 0)
	if !holds("two", 0) {
		t.Error("the queue is not free after unlocking")
	}
	eventually(t, "the lock expires", func() bool { return holds("one", 0) })
}
