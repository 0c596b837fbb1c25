package rmqtest

import (
	"maps"
	"slices"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// half is a message whose transaction has not ended.
type half struct {
	copies   []*entry // as sent, and one more for each question
	producer string   // its group
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
	h := &half{producer: m.properties.get(propProducer)}
	e := b.appendHalf(h, m)
	b.agenda.after(b.o.CheckAfter, func() { b.askProducer(h) })
	return e, nil
}

func (b *Broker) appendHalf(h *half, m *message) *entry {
	e := b.log.append(m)
	h.copies = append(h.copies, e)
	b.halves[e.logOffset] = h
	return e
}

func (h *half) copy(logOffset int64) *entry {
	i := slices.IndexFunc(h.copies, func(e *entry) bool { return e.logOffset == logOffset })
	return h.copies[i]
}

func (b *Broker) forgetHalf(h *half) {
	for _, e := range h.copies {
		delete(b.halves, e.logOffset)
	}
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
	case h.copy(offset).queueOffset != place:
		return refuse(systemError, "The transaction state table offset wrong")
	}
	b.forgetHalf(h)
	if verdict != commitType {
		return succeed(nil, nil)
	}
	m := h.copy(offset).message()
	m.moveBack()
	m.sysFlag |= commitType
	m.prepared = offset
	if _, err := b.put(m); err != nil {
		return refuse(messageIllegal, "%v", err)
	}
	return succeed(nil, nil)
}

// askProducer asks a producer of the group how the transaction ended, if that is
// still open, and again later. The answer is another end of transaction.
func (b *Broker) askProducer(h *half) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.halves[h.copies[0].logOffset] != h {
		return // it has ended
	}
	asked, clients := len(h.copies), b.producers[h.producer]
	if asked > maxChecks {
		b.forgetHalf(h)
		return
	}
	b.agenda.after(b.o.CheckAfter, func() { b.askProducer(h) })
	if len(clients) == 0 {
		return // not counted: clients say who they are a second after their start
	}
	m := h.copies[0].message()
	m.properties = m.properties.with(propChecks, decimal(int64(asked)))
	question := b.question(b.appendHalf(h, m))
	ids := slices.Sorted(maps.Keys(clients))
	producer := clients[ids[asked%len(ids)]]
	b.work.Go(func() { producer.send(question) })
}

func (b *Broker) question(e *entry) *remoting.Command {
	m := e.message()
	m.moveBack()
	return &remoting.Command{
		Code: checkTransaction, Language: "GO", Version: version, Flag: remoting.IsOneWay, Body: m.encode(),
		ExtFields: map[string]string{
			"commitLogOffset": decimal(e.logOffset), "tranStateTableOffset": decimal(e.queueOffset),
			"msgId": e.unique, "transactionId": e.unique, "offsetMsgId": b.log.id(e), "bname": brokerName,
		},
	}
}
