package rmqtest

import (
	"encoding/json"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// lockedQueue is what a member of a group locks to consume in order.
type lockedQueue struct {
	group, topic string
	queue        int
}

type lock struct {
	client string
	until  time.Time
}

type lockBody struct {
	Group  string         `json:"consumerGroup"`
	Client string         `json:"clientId"`
	Queues []messageQueue `json:"mqSet"`
}

type messageQueue struct {
	Topic  string `json:"topic"`
	Broker string `json:"brokerName"`
	Queue  int    `json:"queueId"`
}

// onLock answers with those of the queues that the client holds now. As with the
// real broker, only unlocking and time end a lock, not the client's death.
func (b *Broker) onLock(r *request) *remoting.Command {
	var body lockBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return refuse(systemError, "lock: %v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held, now := []messageQueue{}, time.Now()
	for _, q := range body.Queues {
		key := lockedQueue{body.Group, q.Topic, q.Queue}
		l := b.locks[key]
		if l.client != body.Client && now.Before(l.until) {
			continue
		}
		b.locks[key] = lock{client: body.Client, until: now.Add(b.o.LockExpiry)}
		held = append(held, q)
	}
	return asJSON(map[string]any{"lockOKMQSet": held})
}

func (b *Broker) onUnlock(r *request) *remoting.Command {
	var body lockBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return refuse(systemError, "unlock: %v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range body.Queues {
		key := lockedQueue{body.Group, q.Topic, q.Queue}
		if b.locks[key].client == body.Client {
			delete(b.locks, key)
		}
	}
	return succeed(nil, nil)
}

// locked reports whether a group consumes in order.
func (b *Broker) locked(group string) bool {
	for q, l := range b.locks {
		if q.group == group && time.Now().Before(l.until) {
			return true
		}
	}
	return false
}
