package rmqtest

import (
	"slices"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Delivery tells that a message was handed to a consumer.
type Delivery struct {
	Group, Client  string // whose: consumer group and client id, "" before its first heartbeat
	Topic          string // where it was: on a retry %RETRY%group
	Queue          int
	QueueOffset    int64
	MsgID          string // UNIQ_KEY, or OffsetMsgID if the message has none
	OffsetMsgID    string
	Keys           string // KEYS as it is: several are separated by a space
	OriginalTopic  string // the message's own topic, also on a retry
	ReconsumeTimes int
	At             time.Time
}

// Instance is the instance name of the client, which its client id ends with.
func (d Delivery) Instance() string {
	_, instance, _ := strings.Cut(d.Client, "@")
	return instance
}

// deliveriesKept bounds the history.
const deliveriesKept = 1 << 16

// history is the last deliveries, the oldest first from next on once it is full.
type history struct {
	ring []Delivery
	next int
}

func (h *history) add(d Delivery) {
	if len(h.ring) < deliveriesKept {
		h.ring = append(h.ring, d)
		return
	}
	h.ring[h.next] = d
	h.next = (h.next + 1) % deliveriesKept
}

// each yields the deliveries in their order.
func (h *history) each(yield func(Delivery)) {
	for i := range h.ring {
		yield(h.ring[(h.next+i)%len(h.ring)])
	}
}

func (b *Broker) noteDelivered(p *pull, found []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range found {
		d := Delivery{
			Group: p.group, Client: p.conn.client, Topic: e.queue.topic, Queue: int(e.queue.id), QueueOffset: e.queueOffset,
			MsgID: e.unique, OffsetMsgID: b.log.id(e), Keys: e.keys, OriginalTopic: e.origin,
			ReconsumeTimes: int(e.reconsumed), At: time.Now(),
		}
		if d.MsgID == "" {
			d.MsgID = d.OffsetMsgID
		}
		if d.OriginalTopic == "" {
			d.OriginalTopic = d.Topic
		}
		b.delivered.add(d)
	}
}

// Deliveries returns the deliveries of messages that have key among their KEYS,
// in their order and in all groups. A delivery is noted when it is sent, before
// the consumer can see it; whether its callback ran is not known here.
func (b *Broker) Deliveries(key string) []Delivery {
	return b.deliveriesIf(func(d Delivery) bool {
		return d.Keys == key || slices.Contains(strings.Split(d.Keys, " "), key)
	})
}

// DeliveriesTo returns the deliveries to a consumer group in their order.
func (b *Broker) DeliveriesTo(group string) []Delivery {
	return b.deliveriesIf(func(d Delivery) bool { return d.Group == group })
}

func (b *Broker) deliveriesIf(wanted func(Delivery) bool) (found []Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delivered.each(func(d Delivery) {
		if wanted(d) {
			found = append(found, d)
		}
	})
	return found
}

// Lag returns how many messages of its topics, the retry topic among them, a
// group has not committed. The client commits with a later pull of the queue or
// every 5 seconds, the first time after 10, so that 0 comes late. Messages that
// wait for a delay do not count.
func (b *Broker) Lag(group string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	topics := map[string]bool{}
	if g := b.groups[group]; g != nil {
		for topic := range g.subscribed {
			topics[topic] = true
		}
	}
	for q := range b.offsets {
		if q.group == group {
			topics[q.topic] = true
		}
	}
	lag := int64(0)
	for name := range topics {
		if t := b.log.topics[name]; t != nil {
			lag += b.lagOf(group, t)
		}
	}
	return lag
}

func (b *Broker) lagOf(group string, t *topic) (lag int64) {
	for _, q := range t.queues {
		done := max(b.offsets[groupQueue{group, t.name, q.id}], q.first())
		lag += max(q.next-done, 0)
	}
	return lag
}

// DLQ returns the dead letters of a group as a consumer would see them.
func (b *Broker) DLQ(group string) []*primitive.MessageExt { return b.Messages(deadPrefix + group) }

// Messages returns the messages that a topic holds as a consumer would see them,
// queue after queue.
func (b *Broker) Messages(topic string) []*primitive.MessageExt {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.log.topics[topic]
	if t == nil {
		return nil
	}
	var all []*primitive.MessageExt
	for _, q := range t.queues {
		all = append(all, primitive.DecodeMessage(concat(q.entries))...)
	}
	return all
}
