package rmqtest

import "strings"

// put takes a new message: it may have to wait for a time or for the end of its
// transaction before consumers see it.
func (b *Broker) put(m *message) (*entry, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if m.properties.get(propPrepared) == "true" && !(m.reconsumed > 0 && m.delayLevel() > 0) && !m.committed() {
		return b.putHalf(m)
	}
	if m.delayLevel() > 0 {
		return b.putDelayed(m)
	}
	if at, ok := m.deliverAt(); ok {
		return b.putTimed(m, at)
	}
	return b.store(m), nil
}

func (m *message) committed() bool { return m.sysFlag&transactionAny == commitType }

// store makes a message visible to consumers.
func (b *Broker) store(m *message) *entry {
	e := b.log.append(m)
	if !strings.HasPrefix(m.topic, deadPrefix) && b.faults.duplicates() {
		twin := *m
		if m.properties.get(propShardingKey) == "" {
			twin.queue = (m.queue + 1) % int32(max(b.log.topics[m.topic].write, 1))
		}
		b.log.append(&twin)
	}
	return e
}
