package rmqtest

import (
	"maps"
	"slices"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// half is a message whose transaction has not ended.
type half struct {
	entry    *entry
	producer string // its group
	asked    int
}

// maxChecks is how often a producer is asked.
const maxChecks = 15

// putHalf stores a message out of the consumers' sight until its transaction ends.
func (b *Broker) putHalf(m *message) (*entry, error) {
	if id := m.properties.get(propUniqueKey); id != "" {
		m.properties = m.properties.with(propTransaction, id)
	}
	m.sysFlag &^= transactionAny
	m.moveTo(halfTopic, 0)
	if err := m.check(); err != nil {
		return nil, err
	}
	b.log.ensure(halfTopic, 1)
	e := b.log.append(m)
	b.halves[e.logOffset] = &half{entry: e, producer: m.properties.get(propProducer)}
	b.agenda.after(b.o.CheckAfter, func() { b.askProducer(e.logOffset) })
	return e, nil
}

// onEndTransaction commits or rolls back, unless the producer does not know yet.
func (b *Broker) onEndTransaction(r *request) *remoting.Command {
	offset, verdict, place := r.number("commitLogOffset"), r.number("commitOrRollback"), r.number("tranStateTableOffset")
	if r.err != nil {
		return refuse(invalidParameter, "%v", r.err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.halves[offset]
	switch {
	case verdict&transactionAny == 0:
		return succeed(nil, nil)
	case h == nil:
		return refuse(systemError, "Find prepared transaction message failed")
	case h.producer != r.text("producerGroup"):
		return refuse(systemError, "The producer group wrong")
	case h.entry.queueOffset != place:
		return refuse(systemError, "The transaction state table offset wrong")
	}
	delete(b.halves, offset)
	if verdict != commitType {
		return succeed(nil, nil)
	}
	m := h.entry.message()
	m.moveBack()
	m.sysFlag |= commitType
	m.prepared = offset
	if _, err := b.put(m); err != nil {
		return refuse(messageIllegal, "%v", err)
	}
	return succeed(nil, nil)
}

// askProducer asks a producer of the group how the transaction of the message at
// offset ended, if that is still open, and again later. The answer is another
// end of transaction.
func (b *Broker) askProducer(offset int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.halves[offset]
	if h == nil {
		return
	}
	clients := b.producers[h.producer]
	if len(clients) > 0 {
		h.asked++
	}
	if h.asked > maxChecks {
		delete(b.halves, offset)
		return
	}
	b.agenda.after(b.o.CheckAfter, func() { b.askProducer(offset) })
	if len(clients) == 0 {
		return // not counted: clients say who they are a second after their start
	}
	ids := slices.Sorted(maps.Keys(clients))
	producer, question := clients[ids[h.asked%len(ids)]], h.question(b.log)
	b.work.Go(func() { producer.send(question) })
}

func (h *half) question(l *messageLog) *remoting.Command {
	m := h.entry.message()
	m.moveBack()
	return &remoting.Command{
		Code: checkTransaction, Language: "GO", Version: version, Flag: remoting.IsOneWay, Body: m.encode(),
		ExtFields: map[string]string{
			"commitLogOffset": decimal(h.entry.logOffset), "tranStateTableOffset": decimal(h.entry.queueOffset),
			"msgId": h.entry.unique, "transactionId": h.entry.unique, "offsetMsgId": l.id(h.entry), "bname": brokerName,
		},
	}
}
