package listenertest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const (
	retryPrefix = "%RETRY%"
	brokerName  = "broker-a"
)

// The address of producer and broker, as frames have it: 127.0.0.1 and a port.
var (
	host       = []byte{127, 0, 0, 1}
	bornPort   = int32(40000)
	brokerPort = int32(10911)
)

// commitLog knows where the next message is stored.
type commitLog struct {
	mu     sync.Mutex // guards what follows
	end    int64
	queues map[string]int64 // the next offset, by topic
}

func (l *commitLog) append(topic string, size int) (commitLogOffset, queueOffset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues == nil {
		l.queues = make(map[string]int64)
	}
	commitLogOffset, queueOffset = l.end, l.queues[topic]
	l.end += int64(size)
	l.queues[topic]++
	return commitLogOffset, queueOffset
}

func (l *commitLog) queueEnd(topic string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues[topic]
}

// Message sends m and returns it as a consumer gets it the first time. Each call
// stores another copy, with an offset of its own, as each send of a producer does.
//
// As the client's producer does, it gives m a UNIQ_KEY if it has none, which a
// resend of the same m keeps and a message built anew does not share. With m.Batch
// it gives it none: members of a batch send of the Go client have no UNIQ_KEY.
func (c *Consumer) Message(m *primitive.Message) *primitive.MessageExt {
	unique := primitive.PropertyUniqueClientMessageIdKeyIndex
	if !m.Batch && m.GetProperty(unique) == "" {
		m.WithProperty(unique, primitive.CreateUniqID())
	}
	properties := m.GetProperties()
	properties[primitive.PropertyMsgRegion] = "DefaultRegion"
	properties[primitive.PropertyTraceSwitch] = "true"
	properties[primitive.PropertyCluster] = "DefaultCluster"
	now := time.Now().UnixMilli()
	return c.stored(&primitive.MessageExt{
		Message:       primitive.Message{Topic: m.Topic, Body: m.Body, Flag: m.Flag},
		BornTimestamp: now,
	}, m.Topic, properties)
}

// Retry returns the copy of m that comes back through the retry topic after m was
// sent back at a delay level. Level 0 is the broker's choice, 3 + the retries so
// far. What the fields of m say of the broker's own copy changes, as it does there;
// the rest stays.
func (c *Consumer) Retry(m *primitive.MessageExt, level int) *primitive.MessageExt {
	topic := retryPrefix + c.group()
	level = cmp.Or(level, 3+int(m.ReconsumeTimes))
	properties := m.GetProperties()
	for _, mark := range []string{
		primitive.PropertyMinOffset, primitive.PropertyMaxOffset, primitive.PropertyConsumeStartTime,
	} {
		delete(properties, mark) // the client's, never stored
	}
	maps.Copy(properties, map[string]string{
		primitive.PropertyRetryTopic:     m.Topic,
		primitive.PropertyDelayTimeLevel: strconv.Itoa(level),
		primitive.PropertyRealTopic:      topic,
		primitive.PropertyRealQueueId:    "0",
		primitive.PropertyWaitStoreMsgOk: "false",
		primitive.PropertyOriginMessageId: cmp.Or(
			m.GetProperty(primitive.PropertyOriginMessageId), m.OffsetMsgId),
	})
	return c.stored(&primitive.MessageExt{
		Message:        primitive.Message{Body: m.Body, Flag: m.Flag},
		BornTimestamp:  m.BornTimestamp,
		ReconsumeTimes: m.ReconsumeTimes + 1,
	}, topic, properties)
}

// stored gives m its place and returns what a consumer reads there.
func (c *Consumer) stored(m *primitive.MessageExt, topic string, properties map[string]string) *primitive.MessageExt {
	m.WithProperties(properties)
	m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName}
	m.StoreTimestamp = time.Now().UnixMilli()
	m.CommitLogOffset, m.QueueOffset = c.log().append(topic, len(frame(nil, m)))
	return c.copies([]*primitive.MessageExt{m})[0]
}

// copies is what the client makes of a reply of the broker with msgs: its own
// decoder fills most fields, and its consumer the rest.
func (c *Consumer) copies(msgs []*primitive.MessageExt) []*primitive.MessageExt {
	var reply []byte
	for _, m := range msgs {
		reply = frame(reply, m)
	}
	copies := primitive.DecodeMessage(reply)
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for i, m := range copies {
		topic := m.Topic
		m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: queueOf(msgs[i]).QueueId}
		m.WithProperty(primitive.PropertyMinOffset, "0")
		m.WithProperty(primitive.PropertyMaxOffset, strconv.FormatInt(c.log().queueEnd(topic), 10))
		m.WithProperty(primitive.PropertyConsumeStartTime, now)
		if origin := m.GetProperty(primitive.PropertyRetryTopic); origin != "" && topic == retryPrefix+c.group() {
			m.Topic = origin
		}
	}
	return copies
}

// queueOf is where m lies. A message that a test has built by itself may not say.
func queueOf(m *primitive.MessageExt) primitive.MessageQueue {
	if m.Queue == nil {
		return primitive.MessageQueue{Topic: m.Topic}
	}
	return *m.Queue
}

// magic marks a message in the commit log.
const magic = 0xDAA320A7

// frame appends m to reply in the form in which the broker stores and sends it.
func frame(reply []byte, m *primitive.MessageExt) []byte {
	queue, properties := queueOf(m), m.MarshallProperties()
	var b bytes.Buffer
	put := func(fields ...any) {
		for _, f := range fields {
			_ = binary.Write(&b, binary.BigEndian, f) // a buffer takes everything of a fixed size
		}
	}
	put(uint32(magic), crc32.ChecksumIEEE(m.Body)&0x7FFFFFFF, int32(queue.QueueId), m.Flag,
		m.QueueOffset, m.CommitLogOffset, m.SysFlag, m.BornTimestamp, host, bornPort,
		m.StoreTimestamp, host, brokerPort, m.ReconsumeTimes, m.PreparedTransactionOffset,
		int32(len(m.Body)), m.Body, uint8(len(queue.Topic)), []byte(queue.Topic),
		int16(len(properties)), []byte(properties))
	reply = binary.BigEndian.AppendUint32(reply, uint32(4+b.Len()))
	return append(reply, b.Bytes()...)
}
