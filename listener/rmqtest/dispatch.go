package rmqtest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// Request is the code of a request in the remoting protocol, for the faults.
type Request int

// The requests that clients send. Version 2 of the single send is what the Java
// client sends.
const (
	SendMessage      Request = 10
	SendMessageV2    Request = 310
	SendBatch        Request = 320
	PullMessage      Request = 11
	QueryOffset      Request = 14
	UpdateOffset     Request = 15
	CreateTopic      Request = 17
	SearchOffset     Request = 29
	MaxOffset        Request = 30
	MinOffset        Request = 31
	Heartbeat        Request = 34
	UnregisterClient Request = 35
	SendBack         Request = 36
	EndTransaction   Request = 37
	ConsumerIDs      Request = 38
	LockQueues       Request = 41
	UnlockQueues     Request = 42
	GetRoute         Request = 105
	GetCluster       Request = 106
	GetTopicStats    Request = 202
	ListTopics       Request = 206
	DeleteTopic      Request = 215
	DeleteRoute      Request = 216
	LitePullMessage  Request = 361
)

// What the broker asks of clients.
const (
	checkTransaction   = 39
	consumerIDsChanged = 40
)

// version is broker 5.3.3 in the protocol's numbers; clients look at it.
const version = 479

// handlers answer. One that returns nil has answered itself or will do so later.
var handlers = map[Request]func(*Broker, *request) *remoting.Command{
	SendMessage:      (*Broker).onSend,
	SendMessageV2:    (*Broker).onSend,
	SendBatch:        (*Broker).onSend,
	PullMessage:      (*Broker).onPull,
	LitePullMessage:  (*Broker).onPull,
	QueryOffset:      (*Broker).onQueryOffset,
	UpdateOffset:     (*Broker).onUpdateOffset,
	SearchOffset:     (*Broker).onSearchOffset,
	MaxOffset:        (*Broker).onMaxOffset,
	MinOffset:        (*Broker).onMinOffset,
	Heartbeat:        (*Broker).onHeartbeat,
	UnregisterClient: (*Broker).onUnregister,
	ConsumerIDs:      (*Broker).onConsumerIDs,
	SendBack:         (*Broker).onSendBack,
	EndTransaction:   (*Broker).onEndTransaction,
	LockQueues:       (*Broker).onLock,
	UnlockQueues:     (*Broker).onUnlock,
	CreateTopic:      (*Broker).onCreateTopic,
	DeleteTopic:      (*Broker).onDeleteTopic,
	DeleteRoute:      (*Broker).onDeleteTopic,
	GetTopicStats:    (*Broker).onTopicStats,
	GetRoute:         (*Broker).onRoute,
	GetCluster:       (*Broker).onCluster,
	ListTopics:       (*Broker).onListTopics,
}

func (b *Broker) handle(r *request) {
	handler, ok := handlers[Request(r.Code)]
	if !ok {
		b.answer(r, refuse(notSupported, "request type %d not supported", r.Code), nil)
		return
	}
	if code, refused := b.faults.refuses(Request(r.Code)); refused {
		b.answer(r, refuse(code, "refused by a fault of the test"), nil)
		return
	}
	if reply := handler(b, r); reply != nil {
		b.answer(r, reply, nil)
	}
}

// answer sends reply unless nobody waits for it or a fault is in the way. Just
// before it calls sent, if that is not nil.
func (b *Broker) answer(r *request, reply *remoting.Command, sent func()) {
	if r.Flag&remoting.IsOneWay != 0 {
		return
	}
	drop, delay := b.faults.replies(Request(r.Code))
	if drop {
		return
	}
	reply.Language, reply.Version, reply.Opaque = "GO", version, r.Opaque
	reply.Flag |= remoting.IsResponse
	write := func() {
		if sent != nil {
			sent()
		}
		r.conn.send(reply)
	}
	if delay == 0 {
		write()
		return
	}
	b.work.Go(func() {
		if b.sleep(r.conn, delay) {
			write()
		}
	})
}

// sleep reports whether broker and connection were still there after d.
func (b *Broker) sleep(c *conn, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ended:
	case <-b.done:
	}
	return false
}
