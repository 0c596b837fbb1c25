package rmqtest_test

import (
	"bytes"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestClientReadsWhatTheBrokerEncodes(t *testing.T) {
	t.Parallel()
	w := rmqtest.Wire{
		Topic: "orders", Body: []byte("订单"), Properties: "KEYS\x01A-1\x02UNIQ_KEY\x01U-1\x02", Queue: 3, Flag: -7,
		SysFlag: 8, Reconsumed: 2, QueueOffset: 5, LogOffset: 1 << 40, Born: 11, Store: 12,
	}
	got := primitive.DecodeMessage(append(rmqtest.EncodeMessage(w), rmqtest.EncodeMessage(w)...))
	if len(got) != 2 {
		t.Fatalf("got %d messages, want 2", len(got))
	}
	for _, m := range got {
		if m.Topic != w.Topic || !bytes.Equal(m.Body, w.Body) || m.GetKeys() != "A-1" || m.MsgId != "U-1" ||
			m.Queue.QueueId != 3 || m.Flag != w.Flag || m.SysFlag != w.SysFlag || m.ReconsumeTimes != w.Reconsumed ||
			m.QueueOffset != w.QueueOffset || m.CommitLogOffset != w.LogOffset || m.BornTimestamp != w.Born ||
			m.StoreTimestamp != w.Store || m.OffsetMsgId != "7F00000100002A9F0000010000000000" {
			t.Errorf("got %v, want %+v", m, w)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add(rmqtest.EncodeMessage(rmqtest.Wire{Topic: "orders", Body: []byte("b"), Properties: "KEYS\x01A\x02"}))
	f.Add([]byte{0, 0, 0, 91})
	f.Fuzz(func(t *testing.T, raw []byte) {
		again, err := rmqtest.Reencode(raw)
		if err != nil {
			return
		}
		// Ports have 16 bits in 32; what is above them is lost.
		if twice, err := rmqtest.Reencode(again); err != nil || !bytes.Equal(twice, again) || len(again) != len(raw) {
			t.Fatalf("got %x, %v, want %x", twice, err, again)
		}
	})
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add(producer.MarshalMessageBatch(message("orders", "A-1", "one"), message("orders", "A-2", "two")))
	f.Add([]byte{0, 0, 0, 22})
	f.Fuzz(func(t *testing.T, body []byte) {
		bodies, props, err := rmqtest.DecodeBatch(body)
		if err != nil {
			return
		}
		total := 0
		for i := range bodies {
			total += 22 + len(bodies[i]) + len(props[i])
		}
		if total != len(body) {
			t.Fatalf("the pieces have %d bytes of %d", total, len(body))
		}
	})
}

func TestBatchesOfTheClientAreDecoded(t *testing.T) {
	t.Parallel()
	bodies, props, err := rmqtest.DecodeBatch(producer.MarshalMessageBatch(
		message("orders", "A-1", "one"), message("orders", "A-2", "two")))
	if err != nil || len(bodies) != 2 || string(bodies[1]) != "two" || props[0] != "KEYS\x01A-1\x02" {
		t.Errorf("got %q, %q, %v", bodies, props, err)
	}
}

// FuzzProperties compares with the client, which also lets the last value win.
func FuzzProperties(f *testing.F) {
	f.Add("KEYS\x01A-1\x02TAGS\x01paid\x02", "KEYS", "A-2", "TAGS")
	f.Add("KEY\x01x\x02KEYS\x01y", "EYS", "z", "KEYS")
	f.Fuzz(func(t *testing.T, all, set, value, name string) {
		for _, part := range []string{set, value, name} {
			if part == "" || bytes.ContainsAny([]byte(part), "\x01\x02") {
				return
			}
		}
		var m primitive.Message
		m.UnmarshalProperties([]byte(all))
		m.WithProperty(set, value)
		want, got := m.GetProperty(name), rmqtest.Property(all, set, value, name)
		if want != "" && got != want {
			t.Fatalf("%q with %s=%s: got %q for %s, want %q", all, set, value, got, name, want)
		}
	})
}
