package rmqtest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// The bits of a pull's sysFlag.
const (
	pullCommits  = 1 << 0
	pullWaits    = 1 << 1
	pullHasQuery = 1 << 2
)

// What one answer holds at the most; a single longer message goes alone.
const (
	maxPulled      = 32
	maxPulledBytes = 256 << 10
)

// pull is a request for messages.
type pull struct {
	*request
	group    string
	queue    *queue
	offset   int64
	most     int64
	accepted tagFilter
}

// onPull answers with messages, or once there is one, or when the time that the
// client gave is over.
func (b *Broker) onPull(r *request) *remoting.Command {
	patience := time.Duration(0)
	if r.numberOr("sysFlag", 0)&pullWaits != 0 {
		patience = time.Duration(r.numberOr("suspendTimeoutMillis", 0)) * time.Millisecond
	}
	b.mu.Lock()
	p, refusal := b.readPull(r)
	if refusal != nil {
		b.mu.Unlock()
		return refusal
	}
	reply, found := b.read(p)
	var arrived <-chan struct{}
	if reply.Code == pullNotFound && patience > 0 {
		arrived = p.queue.wait()
	}
	b.mu.Unlock()
	if arrived == nil {
		b.answerPull(p, reply, found)
		return nil
	}
	b.work.Go(func() { b.hold(p, arrived, patience) })
	return nil
}

func (b *Broker) readPull(r *request) (*pull, *remoting.Command) {
	p := &pull{request: r, group: r.text("consumerGroup"), offset: r.number("queueOffset"), most: r.number("maxMsgNums")}
	topic, id, flags := r.text("topic"), r.number("queueId"), r.number("sysFlag")
	commit := r.numberOr("commitOffset", 0)
	if r.err != nil {
		return nil, refuse(invalidParameter, "%v", r.err)
	}
	t := b.log.topics[topic]
	if t == nil {
		return nil, refuse(topicNotExist, "topic[%s] not exist, apply first please!", topic)
	}
	if id < 0 || id >= int64(t.read) {
		return nil, refuse(invalidParameter, "queueId[%d] is illegal, topic %s has %d", id, topic, t.read)
	}
	p.queue = t.queues[id]
	if kind := r.text("expressionType"); kind != "" && kind != "TAG" {
		return nil, refuse(systemError, "The broker does not support consumer to filter message by %s", kind)
	}
	expression, ok := b.group(p.group).subscribed[topic]
	if flags&pullHasQuery != 0 {
		expression, ok = r.text("subscription"), true
	}
	if !ok {
		return nil, refuse(subscriptionNotExist, "the consumer's subscription not exist")
	}
	p.accepted = newTagFilter(expression)
	if flags&pullCommits != 0 {
		b.offsets[groupQueue{p.group, topic, p.queue.id}] = commit
	}
	return p, nil
}

// hold waits for a message on behalf of a client.
func (b *Broker) hold(p *pull, arrived <-chan struct{}, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
	case <-p.conn.ended:
		return
	case <-b.done:
		return
	}
	b.mu.Lock()
	reply, found := b.read(p)
	b.mu.Unlock()
	b.answerPull(p, reply, found)
}

func (b *Broker) answerPull(p *pull, reply *remoting.Command, found []*entry) {
	b.answer(p.request, reply, func() { b.noteDelivered(p, found) })
}

// read answers with what there is now.
func (b *Broker) read(p *pull) (*remoting.Command, []*entry) {
	q, next := p.queue, p.offset
	answer := func(code int) *remoting.Command {
		reply := refuse(code, "")
		reply.ExtFields = map[string]string{
			"suggestWhichBrokerId": "0", "nextBeginOffset": decimal(next),
			"minOffset": decimal(q.first()), "maxOffset": decimal(q.next),
		}
		return reply
	}
	switch {
	case q.next == p.offset:
		return answer(pullNotFound), nil
	case p.offset < q.first():
		next = q.first()
		return answer(pullOffsetMoved), nil
	case p.offset > q.next:
		next = q.next
		return answer(pullOffsetMoved), nil
	}
	found, passed := p.choose(q.from(p.offset))
	next += int64(passed)
	if len(found) == 0 {
		return answer(pullRetryImmediately), nil
	}
	reply := answer(success)
	reply.Body = concat(found)
	return reply, found
}

// choose returns the messages to send and how many were looked at.
func (p *pull) choose(entries []*entry) (found []*entry, passed int) {
	size, most := 0, int(min(max(p.most, 1), maxPulled))
	for _, e := range entries {
		if len(found) == most || len(found) > 0 && size+len(e.raw) > maxPulledBytes {
			break
		}
		passed++
		if p.accepted.has(e.tag) {
			found = append(found, e)
			size += len(e.raw)
		}
	}
	return found, passed
}
