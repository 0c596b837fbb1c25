package rmqtest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Produce stores messages in a topic as if a producer had sent them one by one,
// which is faster than one and needs none. A message goes to the queue that it
// names, else messages with one sharding key go to one queue and the others
// round the queues. The topic is created if need be. Delays work; the messages
// are not changed and may be produced again, which gives them a new UNIQ_KEY
// unless they have one.
func (b *Broker) Produce(topic string, messages ...*primitive.Message) error {
	if err := checkUse(topic); err != nil {
		return fmt.Errorf("rmqtest: produce: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.log.ensure(topic, b.o.Queues)
	for i, p := range messages {
		m := &message{
			topic: topic, flag: p.Flag, body: p.Body, properties: properties(p.MarshallProperties()).and(serverProperties),
			born: time.Now().UnixMilli(), bornHost: b.log.host,
		}
		if m.properties.get(propUniqueKey) == "" {
			m.properties = m.properties.with(propUniqueKey, primitive.CreateUniqID())
		}
		if err := b.produce(t, m, p); err != nil {
			return fmt.Errorf("rmqtest: produce message %d to %s: %w", i, topic, err)
		}
	}
	return nil
}

var errNoBody = errors.New("a message without a body, which no broker takes")

func (b *Broker) produce(t *topic, m *message, p *primitive.Message) error {
	if len(m.body) == 0 {
		return errNoBody
	}
	queue, err := t.choose(p)
	if err != nil {
		return err
	}
	m.queue = queue
	_, err = b.put(m)
	return err
}

// choose returns the queue for a message that is produced here.
func (t *topic) choose(p *primitive.Message) (int32, error) {
	if t.write == 0 {
		return 0, fmt.Errorf("the topic has no queue to write to")
	}
	if p.Queue != nil {
		if p.Queue.QueueId < 0 || p.Queue.QueueId >= t.write {
			return 0, fmt.Errorf("queue %d, want 0 to %d", p.Queue.QueueId, t.write-1)
		}
		return int32(p.Queue.QueueId), nil
	}
	if key := p.GetShardingKey(); key != "" {
		return int32(hash(key) % uint32(t.write)), nil
	}
	t.turn++
	return int32((t.turn - 1) % t.write), nil
}

func hash(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return h.Sum32()
}
