package rmqtest

import (
	"bytes"
	"net/netip"
	"sort"
	"time"
)

// messageLog is the commit log with its topics. [Broker.mu] guards it.
type messageLog struct {
	host    netip.AddrPort // in every message
	limit   int64          // of bytes
	topics  map[string]*topic
	entries []*entry // the oldest first
	bytes   int64    // of entries
	end     int64    // the offset of the next message
}

// entry is one stored message.
type entry struct {
	*queue
	raw                       []byte
	queueOffset, logOffset    int64
	stored                    int64 // milliseconds
	tag, keys, unique, origin string
	reconsumed                int32
}

// queue is one queue of a topic.
type queue struct {
	topic   string
	id      int32
	entries []*entry
	next    int64         // the offset of the next message
	arrived chan struct{} // closed when it has come; nil when nobody waits for it
}

func newMessageLog(host netip.AddrPort, limit int64) *messageLog {
	return &messageLog{host: host, limit: limit, topics: map[string]*topic{}}
}

// append stores m in its queue, which must exist, and drops the oldest messages
// if there is no room for them any more.
func (l *messageLog) append(m *message) *entry {
	q := l.topics[m.topic].queues[m.queue]
	m.queueOffset, m.logOffset = q.next, l.end
	m.stored, m.storeHost = time.Now().UnixMilli(), l.host
	e := &entry{
		queue: q, raw: m.encode(), queueOffset: m.queueOffset, logOffset: m.logOffset, stored: m.stored,
		tag: m.properties.get(propTags), keys: m.properties.get(propKeys), unique: m.properties.get(propUniqueKey),
		origin: m.properties.get(propRetryTopic), reconsumed: m.reconsumed,
	}
	q.entries = append(q.entries, e)
	q.next++
	l.entries = append(l.entries, e)
	l.end += int64(len(e.raw))
	l.bytes += int64(len(e.raw))
	l.shrink()
	if q.arrived != nil {
		close(q.arrived)
		q.arrived = nil
	}
	return e
}

// shrink relies on the oldest message of the log being the oldest of its queue.
func (l *messageLog) shrink() {
	for l.bytes > l.limit && len(l.entries) > 1 {
		oldest := l.entries[0]
		l.bytes -= int64(len(oldest.raw))
		l.entries = dropFirst(l.entries)
		oldest.queue.entries = dropFirst(oldest.queue.entries)
	}
}

func dropFirst(entries []*entry) []*entry {
	entries[0] = nil // so that it can be collected
	return entries[1:]
}

// at returns the message that is stored at an offset of the log, or nil.
func (l *messageLog) at(offset int64) *entry {
	i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].logOffset >= offset })
	if i == len(l.entries) || l.entries[i].logOffset != offset {
		return nil
	}
	return l.entries[i]
}

// id is the message's id by its place.
func (l *messageLog) id(e *entry) string { return offsetID(l.host, e.logOffset) }

// message decodes what is stored.
func (e *entry) message() *message {
	m, err := decodeMessage(e.raw)
	if err != nil {
		panic(err) // encode wrote it; this is memory, not input
	}
	return m
}

func (q *queue) first() int64 { return q.next - int64(len(q.entries)) }

// from returns the messages from an offset on.
func (q *queue) from(offset int64) []*entry {
	return q.entries[min(max(offset-q.first(), 0), int64(len(q.entries))):]
}

// since returns the offset of the first message stored at a time or later.
func (q *queue) since(ms int64) int64 {
	i := sort.Search(len(q.entries), func(i int) bool { return q.entries[i].stored >= ms })
	return q.first() + int64(i)
}

// wait returns a channel that is closed when the next message arrives.
func (q *queue) wait() <-chan struct{} {
	if q.arrived == nil {
		q.arrived = make(chan struct{})
	}
	return q.arrived
}

func concat(entries []*entry) []byte {
	raw := make([][]byte, len(entries))
	for i, e := range entries {
		raw[i] = e.raw
	}
	return bytes.Join(raw, nil)
}
