package listener_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// hasty is the time after which the producers of these scenes send again.
const hasty = 2 * time.Second

// brokerFaults are what strikes a scene while messages flow, each with what it
// leaves behind.
var brokerFaults = []struct {
	name   string
	strike func(s *scene, cut string)
	trace  func(*scene) int // more than 0 in the end
}{
	{"replies to sends are lost", func(s *scene, _ string) {
		s.rmq.DropReplies(rmqtest.SendMessage, 2) // the producer tries three times
	}, (*scene).copies},
	{"replies to sends are late", func(s *scene, _ string) {
		s.rmq.DelayReplies(rmqtest.SendMessage, 2, 2*hasty)
	}, (*scene).copies},
	{"send-backs are refused", func(s *scene, _ string) { s.rmq.RefuseSendBack(-1) }, (*scene).returnedByTheClient},
	{"replies to send-backs are lost", func(s *scene, _ string) {
		s.rmq.DropReplies(rmqtest.SendBack, 4)
	}, (*scene).returnedByTheClient},
	{"messages are stored twice", func(s *scene, _ string) { s.rmq.DuplicateDeliveries(30, 1) }, (*scene).copies},
	{"a consumer is cut off", (*scene).cutOff, (*scene).takenOver},
	{"a consumer is cut off, offsets are forgotten", func(s *scene, cut string) {
		s.cutOff(cut)
		s.rmq.ForgetOffsets(s.Group)
	}, (*scene).copies},
	{"all at once", func(s *scene, cut string) {
		s.rmq.DuplicateDeliveries(30, 2)
		s.rmq.DropReplies(rmqtest.SendMessage, 1)
		s.rmq.DelayReplies(rmqtest.PullMessage, 20, 50*time.Millisecond)
		s.rmq.RefuseSendBack(4)
		s.rmq.DropReplies(rmqtest.SendBack, 4)
		s.cutOff(cut)
		s.rmq.ForgetOffsets(s.Group)
	}, (*scene).copies},
}

func TestBrokerFaultsUnderLoadLoseNothingAndRunNothingTwice(t *testing.T) {
	t.Parallel()
	for _, fault := range brokerFaults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, inProcess, 4)
			s.startProducer(hasty)
			a, b := s.join(listener.Options{}, s.failsEveryTenthOnce), s.join(listener.Options{}, s.failsEveryTenthOnce)
			f := s.startFlow("order", 4*time.Millisecond)
			s.work(a, b)
			fault.strike(s, s.instance(a.name))
			f.more(200)
			eventually(t, "the fault has left a trace", func() bool { return fault.trace(s) > 0 })
			keys := f.stop()
			s.catchUp(keys, 4)
			s.wantRuns(t, 1, slices.DeleteFunc(slices.Clone(keys), tenth)...)
			s.wantRuns(t, 2, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !tenth(key) })...)
			if n := s.dead(); n > 0 {
				t.Errorf("%d messages are in the dead-letter queue, want none", n)
			}
		})
	}
}

// cutOff keeps the member out of its group, too: it would be given its queues
// back, and its client would not take from them for the rest of its long polls.
func (s *scene) cutOff(instance string) {
	s.rmq.RefuseReplies(rmqtest.Heartbeat, -1, 1)
	s.rmq.CutConnections(instance)
}

func tenth(key string) bool { return strings.HasSuffix(key, "0") }

// failsEveryTenthOnce keeps some send-backs coming.
func (s *scene) failsEveryTenthOnce(ctx context.Context, m *primitive.MessageExt) error {
	if body := string(m.Body); tenth(body) && s.runs(body) == 1 {
		return errBoom
	}
	return taking(10*time.Millisecond)(ctx, m)
}

// copies are the deliveries that met a claim or a record of their key.
func (s *scene) copies() int {
	return s.count(outcome(dedup.Skipped)) + s.count(because(dedup.ErrBusy))
}

// returnedByTheClient are the messages in the retry topic that consumers have
// sent there themselves: their origin is a UNIQ_KEY and not the id of a place.
func (s *scene) returnedByTheClient() (n int) {
	for _, m := range s.rmq.Messages("%RETRY%" + s.Group) {
		if m.GetProperty(primitive.PropertyOriginMessageId) == m.MsgId {
			n++
		}
	}
	return n
}

// takenOver are the queues of the topic from which more than one member took.
func (s *scene) takenOver() (n int) {
	owners := map[int]string{}
	for _, d := range s.rmq.DeliveriesTo(s.Group) {
		if before, seen := owners[d.Queue]; d.Topic == s.Topic && seen && before != d.Client {
			n++
		}
		if d.Topic == s.Topic {
			owners[d.Queue] = d.Client
		}
	}
	return n
}
