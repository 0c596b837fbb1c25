package rmqtest

import "github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"

// onSendBack takes a message back from a consumer that could not handle it: a
// copy goes to the group's retry topic after a delay, or to its dead letters.
func (b *Broker) onSendBack(r *request) *remoting.Command {
	group, offset, level := r.text("group"), r.number("offset"), r.numberOr("delayLevel", 0)
	maxReconsumed := r.numberOr("maxReconsumeTimes", defaultMaxReconsumed)
	if err := firstOf(r.err, checkTopic(retryPrefix+group)); err != nil {
		return refuse(invalidParameter, "%v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	retry := b.log.ensure(retryPrefix+group, 1)
	e := b.log.at(offset)
	if e == nil {
		return refuse(systemError, "look message by offset failed, %d", offset)
	}
	m := e.message()
	if m.properties.get(propRetryTopic) == "" {
		m.properties = m.properties.with(propRetryTopic, m.topic)
	}
	if m.properties.get(propOriginID) == "" {
		m.properties = m.properties.with(propOriginID, b.log.id(e))
	}
	if int64(m.reconsumed) >= maxReconsumed || level < 0 {
		m.topic, m.queue = b.log.ensure(deadPrefix+group, 1).name, 0
		level = 0
	} else {
		m.topic, m.queue = retry.name, int32(b.random.IntN(max(retry.write, 1)))
		if level == 0 {
			level = 3 + int64(m.reconsumed)
		}
	}
	m.properties = m.properties.with(propDelay, decimal(level)).with(propWait, "false")
	m.prepared = 0
	m.reconsumed++
	if _, err := b.put(m); err != nil {
		return refuse(systemError, "%v", err)
	}
	return succeed(nil, nil)
}
