package rmqtest

import (
	"fmt"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

func (b *Broker) onCreateTopic(r *request) *remoting.Command {
	name, read, write := r.text("topic"), r.number("readQueueNums"), r.number("writeQueueNums")
	if err := checkUse(name); err != nil || r.err != nil {
		return refuse(invalidParameter, "%v", firstOf(r.err, err))
	}
	if min(read, write) < 0 || max(read, write) > maxQueues {
		return refuse(invalidParameter, "topic %s with %d and %d queues, want 0 to %d", name, read, write, maxQueues)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.setTopic(name, int(read), int(write)).order = r.flag("order")
	return succeed(nil, nil)
}

func (b *Broker) onDeleteTopic(r *request) *remoting.Command {
	if err := checkUse(r.text("topic")); err != nil {
		return refuse(invalidParameter, "%v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.remove(r.text("topic"))
	b.offsets.forgetTopic(r.text("topic"))
	return succeed(nil, nil)
}

// onTopicStats answers in the broker's own kind of JSON, whose names are objects.
func (b *Broker) onTopicStats(r *request) *remoting.Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.log.topics[r.text("topic")]
	if t == nil {
		return refuse(topicNotExist, "topic[%s] not exist", r.text("topic"))
	}
	var rows []string
	for _, q := range t.queues {
		rows = append(rows, fmt.Sprintf(`{"brokerName":%q,"queueId":%d,"topic":%q}:`+
			`{"lastUpdateTimestamp":%d,"maxOffset":%d,"minOffset":%d}`,
			brokerName, q.id, t.name, q.lastStored(), q.next, q.first()))
	}
	return succeed(nil, []byte(`{"offsetTable":{`+strings.Join(rows, ",")+`}}`))
}

// lastStored is 0 for an empty queue.
func (q *queue) lastStored() int64 {
	if len(q.entries) == 0 {
		return 0
	}
	return q.entries[len(q.entries)-1].stored
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
