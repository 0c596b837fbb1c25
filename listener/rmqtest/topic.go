package rmqtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// topic is a topic and its queues. There are as many queues as it ever had.
type topic struct {
	name        string
	read, write int
	order       bool
	turn        int // of Produce
	queues      []*queue
}

const (
	brokerName   = "rmqtest"
	clusterName  = "DefaultCluster"
	defaultTopic = "TBW102" // whose route stands for those of topics to come
	readAndWrite = 6

	retryPrefix     = "%RETRY%"
	deadPrefix      = "%DLQ%"
	scheduleTopic   = "SCHEDULE_TOPIC_XXXX"
	timerTopic      = "rmq_sys_wheel_timer"
	halfTopic       = "RMQ_SYS_TRANS_HALF_TOPIC"
	systemPrefix    = "rmq_sys_"
	maxUserTopicLen = 127
)

var topicName = regexp.MustCompile(`^[%|a-zA-Z0-9_-]+$`)

// checkTopic tells why a name cannot be that of a topic.
func checkTopic(name string) error {
	ofGroup := strings.HasPrefix(name, retryPrefix) || strings.HasPrefix(name, deadPrefix)
	switch {
	case !topicName.MatchString(name):
		//lint:ignore ST1005 the real broker's words
		return fmt.Errorf("The specified topic contains illegal characters, allowing only %s: %q", topicName, name)
	case ofGroup && len(name) > maxTopic || !ofGroup && len(name) > maxUserTopicLen:
		return fmt.Errorf("topic %q is too long", name)
	}
	return nil
}

// ownTopic reports whether a topic is RocketMQ's own, which clients may not use.
func ownTopic(name string) bool {
	return name == defaultTopic || name == scheduleTopic || name == halfTopic || strings.HasPrefix(name, systemPrefix)
}

// checkUse tells why clients may not create, delete or fill a topic.
func checkUse(name string) error {
	if ownTopic(name) {
		return fmt.Errorf("topic %q is RocketMQ's own", name)
	}
	return checkTopic(name)
}

// CreateTopic creates a topic, or changes the number of its queues, 1 to 1024.
func (b *Broker) CreateTopic(name string, queues int) error {
	if err := checkUse(name); err != nil {
		return fmt.Errorf("rmqtest: create: %w", err)
	}
	if queues < 1 || queues > maxQueues {
		return fmt.Errorf("rmqtest: create topic %s with %d queues, want 1 to %d", name, queues, maxQueues)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.setTopic(name, queues, queues)
	return nil
}

// setTopic creates or changes a topic.
func (l *messageLog) setTopic(name string, read, write int) *topic {
	t := l.topics[name]
	if t == nil {
		t = &topic{name: name}
		l.topics[name] = t
	}
	t.read, t.write = read, write
	for len(t.queues) < max(read, write) {
		t.queues = append(t.queues, &queue{topic: name, id: int32(len(t.queues))})
	}
	return t
}

// ensure returns a topic, which it creates with so many queues if need be.
func (l *messageLog) ensure(name string, queues int) *topic {
	if t := l.topics[name]; t != nil {
		return t
	}
	return l.setTopic(name, queues, queues)
}

// remove deletes a topic with its messages.
func (l *messageLog) remove(name string) {
	t := l.topics[name]
	if t == nil {
		return
	}
	delete(l.topics, name)
	l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool {
		gone := e.queue.topic == name
		if gone {
			l.bytes -= int64(len(e.raw))
		}
		return gone
	})
	for _, q := range t.queues {
		q.entries = nil
		if q.arrived != nil {
			close(q.arrived)
			q.arrived = nil
		}
	}
}

func (l *messageLog) names() []string { return slices.Sorted(maps.Keys(l.topics)) }
