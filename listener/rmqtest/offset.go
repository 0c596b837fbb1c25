package rmqtest

import (
	"maps"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// offsets are what groups have committed: the next message to consume.
type offsets map[groupQueue]int64

type groupQueue struct {
	group, topic string
	queue        int32
}

// ForgetOffsets makes the broker forget what a group has committed, as when its
// offsets are lost. Running consumers go on from what they remember, and commit
// it; those that start begin anew.
func (b *Broker) ForgetOffsets(group string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.offsets, func(q groupQueue, _ int64) bool { return q.group == group })
}

func (o offsets) forgetTopic(topic string) {
	maps.DeleteFunc(o, func(q groupQueue, _ int64) bool { return q.topic == topic })
}

func (r *request) groupQueue() groupQueue {
	return groupQueue{r.text("consumerGroup"), r.text("topic"), int32(r.number("queueId"))}
}

func (b *Broker) onUpdateOffset(r *request) *remoting.Command {
	q, offset := r.groupQueue(), r.number("commitOffset")
	if r.err != nil {
		return refuse(invalidParameter, "%v", r.err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.log.topics[q.topic] == nil {
		return refuse(topicNotExist, "Topic %s not exist!", q.topic)
	}
	b.offsets[q] = offset
	return succeed(nil, nil)
}

// onQueryOffset answers 0 to a new group whose queue still has its first message,
// as the real broker does: such a group reads everything, wherever it wants to
// start.
func (b *Broker) onQueryOffset(r *request) *remoting.Command {
	key := r.groupQueue()
	return b.aboutQueue(r, func(q *queue) *remoting.Command {
		offset, committed := b.offsets[key]
		if !committed && (q.first() > 0 || q.next == 0) {
			return refuse(queryNotFound, "Not found, maybe this group consumer boot first")
		}
		return anOffset(offset)
	})
}

func (b *Broker) onMaxOffset(r *request) *remoting.Command {
	return b.aboutQueue(r, func(q *queue) *remoting.Command { return anOffset(q.next) })
}

func (b *Broker) onMinOffset(r *request) *remoting.Command {
	return b.aboutQueue(r, func(q *queue) *remoting.Command { return anOffset(q.first()) })
}

func (b *Broker) onSearchOffset(r *request) *remoting.Command {
	ms := r.number("timestamp")
	return b.aboutQueue(r, func(q *queue) *remoting.Command { return anOffset(q.since(ms)) })
}

// aboutQueue answers with what reply says about the queue that r names.
func (b *Broker) aboutQueue(r *request, reply func(*queue) *remoting.Command) *remoting.Command {
	name, id := r.text("topic"), r.number("queueId")
	if r.err != nil {
		return refuse(invalidParameter, "%v", r.err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.log.queue(name, id)
	if q == nil {
		return reply(&queue{}) // never stored to
	}
	return reply(q)
}

func (l *messageLog) queue(topic string, id int64) *queue {
	t := l.topics[topic]
	if t == nil || id < 0 || id >= int64(len(t.queues)) {
		return nil
	}
	return t.queues[id]
}

func anOffset(n int64) *remoting.Command {
	return succeed(map[string]string{"offset": decimal(n)}, nil)
}
