package rmqtest

import (
	"errors"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// letters are the field names of version 2, which batches use too.
var letters = map[string]string{
	"producerGroup": "a", "topic": "b", "queueId": "e", "sysFlag": "f", "bornTimestamp": "g", "flag": "h",
	"properties": "i", "reconsumeTimes": "j", "maxReconsumeTimes": "l", "batch": "m",
}

// serverProperties is what the broker adds to every message.
const serverProperties = properties(propRegion + nameEnd + "DefaultRegion" + valueEnd +
	propTrace + nameEnd + "true" + valueEnd + propCluster + nameEnd + clusterName + valueEnd)

// defaultMaxReconsumed applies where a request does not say.
const defaultMaxReconsumed = 16

func (b *Broker) onSend(r *request) *remoting.Command {
	name := func(field string) string {
		if r.Code == int(SendMessage) {
			return field
		}
		return letters[field]
	}
	m := &message{
		topic: r.text(name("topic")), queue: int32(r.number(name("queueId"))),
		flag: int32(r.numberOr(name("flag"), 0)), sysFlag: int32(r.numberOr(name("sysFlag"), 0)),
		body: r.Body, properties: properties(r.text(name("properties"))),
		born: r.number(name("bornTimestamp")), bornHost: r.conn.peer(),
		reconsumed: int32(r.numberOr(name("reconsumeTimes"), 0)),
	}
	maxReconsumed := r.numberOr(name("maxReconsumeTimes"), defaultMaxReconsumed)
	if err := firstOf(r.err, checkTopic(m.topic)); err != nil {
		return refuse(invalidParameter, "%v", err)
	}
	if ownTopic(m.topic) {
		return refuse(noPermission, "Sending message to topic[%s] is forbidden.", m.topic)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.log.ensure(m.topic, b.o.Queues)
	if m.queue < 0 {
		m.queue = int32(b.random.IntN(max(t.write, 1)))
	}
	if int(m.queue) >= max(t.read, t.write) {
		return refuse(invalidParameter, "request queueId[%d] is illegal, topic %s has %d", m.queue, t.name, t.write)
	}
	if len(m.body) == 0 {
		return refuse(systemError, "%v", errNoBody)
	}
	if r.flag(name("batch")) || r.Code == int(SendBatch) {
		return b.sendBatch(m)
	}
	return b.sendSingle(m, maxReconsumed)
}

func (b *Broker) sendSingle(m *message, maxReconsumed int64) *remoting.Command {
	m.properties = m.properties.and(serverProperties)
	if m.properties.get(propUniqueKey) == "" {
		m.properties = m.properties.with(propUniqueKey, primitive.CreateUniqID())
	}
	asked := m.queue
	if group, ok := strings.CutPrefix(m.topic, retryPrefix); ok {
		b.sendToRetry(m, group, maxReconsumed)
	}
	e, err := b.put(m)
	if err != nil {
		return refuse(messageIllegal, "the message is illegal: %v", err)
	}
	return sent(e.queueOffset, asked, b.log.id(e), e.unique)
}

// sendToRetry is for the client that sends a message to the retry topic by itself
// because the broker refused to take it back, or because it is an orderly
// message that failed too often.
func (b *Broker) sendToRetry(m *message, group string, maxReconsumed int64) {
	if int64(m.reconsumed) > maxReconsumed || b.locked(group) {
		m.properties = m.properties.with(propDelay, "-1")
		m.topic, m.queue = deadPrefix+group, 0
		b.log.ensure(m.topic, 1)
	}
}

func (b *Broker) sendBatch(m *message) *remoting.Command {
	pieces, err := decodeBatch(m.body)
	if err == nil && strings.HasPrefix(m.topic, retryPrefix) {
		err = errors.New("a batch to a retry topic")
	}
	if err != nil {
		return refuse(messageIllegal, "the message is illegal: %v", err)
	}
	// A batch of the Java client has a UNIQ_KEY, which so becomes that of all its
	// messages, as in the real broker.
	shared := m.properties.and(serverProperties)
	batch := make([]*message, len(pieces))
	for i, p := range pieces {
		single := *m
		single.flag, single.body, single.properties = p.flag, p.body, p.properties.and(shared)
		if err := single.check(); err != nil {
			return refuse(messageIllegal, "the message is illegal: %v", err)
		}
		batch[i] = &single
	}
	ids := make([]string, len(batch))
	first := b.store(batch[0])
	ids[0] = b.log.id(first)
	for i, single := range batch[1:] {
		ids[i+1] = b.log.id(b.store(single))
	}
	return sent(first.queueOffset, m.queue, strings.Join(ids, ","), m.properties.get(propUniqueKey))
}

func sent(queueOffset int64, queue int32, id, transaction string) *remoting.Command {
	return succeed(map[string]string{
		"msgId": id, "queueId": decimal(int64(queue)), "queueOffset": decimal(queueOffset),
		"transactionId": transaction, propRegion: "DefaultRegion", propTrace: "true",
	}, nil)
}
