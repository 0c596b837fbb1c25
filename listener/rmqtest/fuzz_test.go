package rmqtest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// FuzzRequest sends requests with strange fields. The broker must answer each
// of them and live.
func FuzzRequest(f *testing.F) {
	batch := producer.MarshalMessageBatch(message("orders", "A-1", "one"))
	for _, r := range []rmqtest.Request{
		10, 310, 11, 361, 14, 15, 17, 29, 30, 31, 35, 36, 37, 38, 105, 106, 202, 206, 215, 9999,
	} {
		half := "KEYS\x01A\x02TRAN_MSG\x01true\x02"
		f.Add(uint16(r), "orders", "billing", int64(0), int64(1), int64(4), half, []byte("x"))
	}
	f.Add(uint16(rmqtest.SendBatch), "orders", "billing", int64(0), int64(1), int64(-1), "UNIQ_KEY\x01U\x02", batch)
	f.Add(uint16(rmqtest.LockQueues), "", "", int64(0), int64(0), int64(0), "",
		[]byte(`{"consumerGroup":"billing","clientId":"c","mqSet":[{"topic":"orders","queueId":0}]}`))
	f.Add(uint16(rmqtest.Heartbeat), "", "", int64(0), int64(0), int64(0), "",
		[]byte(`{"clientID":"c","consumerDataSet":[{"groupName":"billing","subscriptionDataSet":[{"topic":"orders"}]}]}`))
	b := rmqtest.Start(f, rmqtest.Options{MaxBytes: 1 << 20, CheckAfter: time.Millisecond})
	if err := b.CreateTopic("orders", 2); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code uint16, topic, group string, x, y, z int64, properties string, body []byte) {
		all := map[string]string{"suspendTimeoutMillis": "1"}
		for value, names := range map[*string][]string{
			&topic:      {"topic", "b"},
			&group:      {"consumerGroup", "producerGroup", "group", "clientID", "subscription", "a"},
			&properties: {"properties", "i"},
			decimal(x):  {"queueId", "e", "queueOffset", "offset", "commitLogOffset", "delayLevel", "j"},
			decimal(y):  {"maxMsgNums", "sysFlag", "f", "bornTimestamp", "g", "readQueueNums", "commitOffset"},
			decimal(z): {"flag", "h", "timestamp", "maxReconsumeTimes", "l", "writeQueueNums", "commitOrRollback",
				"tranStateTableOffset", "reconsumeTimes"},
		} {
			for _, name := range names {
				all[name] = *value
			}
		}
		c := dial(t, b)
		defer c.Close()
		answer := c.ask(rmqtest.Request(code), all, body)
		if answer.Code != 0 && answer.Remark == "" && answer.ExtFields["nextBeginOffset"] == "" {
			t.Errorf("got %+v, want a reason", answer)
		}
		if answer := c.ask(rmqtest.ListTopics, nil, nil); answer.Code != remoting.Success {
			t.Errorf("got %+v after it", answer)
		}
	})
}

func decimal(n int64) *string {
	s := strconv.FormatInt(n, 10)
	return &s
}
