package rmqtest

import (
	"strconv"
	"time"
)

// delayLevel is 0 for none; less than 0 means the same.
func (m *message) delayLevel() int {
	level, err := strconv.Atoi(m.properties.get(propDelay))
	if err != nil {
		return 0
	}
	return level
}

// deliverAt is when a producer wants the message to be delivered, if that is in
// the future.
func (m *message) deliverAt() (time.Time, bool) {
	if m.properties.get(propTimerOut) != "" {
		return time.Time{}, false // it has waited already
	}
	if s, err := strconv.ParseInt(m.properties.get(propDeliverInS), 10, 32); err == nil {
		return time.Now().Add(time.Duration(s) * time.Second), s > 0
	}
	if ms, err := strconv.ParseInt(m.properties.get(propDeliverInMS), 10, 32); err == nil {
		return time.Now().Add(time.Duration(ms) * time.Millisecond), ms > 0
	}
	ms, err := strconv.ParseInt(m.properties.get(propDeliverAt), 10, 64)
	at := time.UnixMilli(ms)
	return at, err == nil && at.After(time.Now())
}

// putDelayed stores a message until the time of its level is over. A level above
// the highest is the highest.
func (b *Broker) putDelayed(m *message) (*entry, error) {
	level := min(m.delayLevel(), len(b.o.DelayLevels))
	m.properties = m.properties.with(propDelay, strconv.Itoa(level))
	return b.putAside(m, scheduleTopic, level-1, b.o.DelayLevels[level-1])
}

// putTimed stores a message until a time that its producer chose.
func (b *Broker) putTimed(m *message, at time.Time) (*entry, error) {
	m.properties = m.properties.with(propTimerOut, decimal(at.UnixMilli()))
	return b.putAside(m, timerTopic, 0, time.Until(at))
}

// putAside stores m in a topic of the broker's own and has it delivered in d.
func (b *Broker) putAside(m *message, aside string, queue int, d time.Duration) (*entry, error) {
	m.moveTo(aside, queue)
	if err := m.check(); err != nil {
		return nil, err
	}
	b.log.ensure(aside, max(len(b.o.DelayLevels), 1))
	e := b.log.append(m)
	b.agenda.after(d, func() { b.deliver(e) })
	return e, nil
}

// moveTo changes topic and queue and notes the real ones in the properties.
func (m *message) moveTo(topic string, queue int) {
	m.properties = m.properties.with(propRealTopic, m.topic).with(propRealQueue, decimal(int64(m.queue)))
	m.topic, m.queue = topic, int32(queue)
}

// moveBack undoes moveTo. The properties stay, as in the real broker.
func (m *message) moveBack() {
	queue, _ := strconv.Atoi(m.properties.get(propRealQueue)) // moveTo wrote it
	m.topic, m.queue = m.properties.get(propRealTopic), int32(queue)
}

// deliver stores the message of e, whose time has come, where it belongs.
func (b *Broker) deliver(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := e.message()
	m.moveBack()
	if t := b.log.topics[m.topic]; t != nil && int(m.queue) < len(t.queues) {
		b.store(m)
	}
}
