package rmqtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// stage is where a scenario plays: a broker of any kind, a topic and a group of
// its own, and the trace of what clients see.
type stage struct {
	t            *testing.T
	nameServer   string
	broker       string // host:port
	brokerName   string
	levels       []time.Duration
	topic, group string
	ids          map[string]string // numbers of ids
	lines        []string
}

func newStage(t *testing.T, nameServer string, levels []time.Duration, queues int) *stage {
	t.Helper()
	n := rand.Uint64()
	s := &stage{
		t: t, nameServer: nameServer, topic: fmt.Sprintf("contract-t-%x", n), group: fmt.Sprintf("contract-g-%x", n),
		levels: levels, ids: map[string]string{},
	}
	s.findBroker()
	servers := []string{nameServer}
	err := listener.CreateTopic(t.Context(), s.topic, queues, servers, listener.TopicOptions{})
	if err == nil {
		err = listener.EnsureRetryTopic(t.Context(), s.group, servers, listener.TopicOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.deleteAtTheEnd(s.topic, "%RETRY%"+s.group, "%DLQ%"+s.group)
	return s
}

// NameServer makes it served.
func (s *stage) NameServer() string { return s.nameServer }

func (s *stage) findBroker() {
	s.t.Helper()
	body, err := remoting.Caller{}.Call(s.t.Context(), s.nameServer, int(rmqtest.GetCluster), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	brokers, err := remoting.ParseCluster(body)
	if err != nil || len(brokers) != 1 {
		s.t.Fatalf("got %v, %v, want one broker", brokers, err)
	}
	for name, b := range brokers {
		s.broker, s.brokerName = b.Master(), name
	}
}

// deleteAtTheEnd is to leave a broker that stays as it was. The answers are of no
// use: a broker without timers deletes a topic and then reports an error of its own.
func (s *stage) deleteAtTheEnd(topics ...string) {
	s.t.Cleanup(func() {
		for _, topic := range topics {
			_, _ = remoting.Caller{}.Call(context.Background(), s.broker, int(rmqtest.DeleteTopic), fields("topic", topic))
			_, _ = remoting.Caller{}.Call(context.Background(), s.nameServer, int(rmqtest.DeleteRoute), fields("topic", topic))
		}
	})
}

func (s *stage) consume(cb callback, o ...consumer.Option) rocketmq.PushConsumer {
	s.t.Helper()
	c, _ := consume(s.t, s, s.group, s.topic, cb, o...)
	return c
}

// readDead waits for dead letters, each named as by deliveryOf.
func (s *stage) readDead(names ...string) {
	s.t.Helper()
	eventually(s.t, "the dead letter topic", func() bool { return s.queues("%DLQ%"+s.group) > 0 })
	in := newInbox()
	consume(s.t, s, s.group+"-reader", "%DLQ%"+s.group, in.accept)
	s.deleteAtTheEnd("%RETRY%" + s.group + "-reader")
	s.show(in.first(s.t, names...)...)
}

// first waits for messages named as by deliveryOf. Others are passed over.
func (i inbox) first(t *testing.T, names ...string) []*primitive.MessageExt {
	t.Helper()
	var got []*primitive.MessageExt
	for len(names) > 0 {
		m := i.take(t, 1)[0]
		if n := slices.Index(names, deliveryOf(m)); n >= 0 {
			got, names = append(got, m), slices.Delete(slices.Clone(names), n, n+1)
		}
	}
	return got
}

func (s *stage) produceWith(o ...producer.Option) rocketmq.Producer {
	s.t.Helper()
	return produceWith(s.t, s, append([]producer.Option{producer.WithGroupName(s.group)}, o...)...)
}

// queues asks the name server for the number of queues, 0 without a route.
func (s *stage) queues(topic string) int {
	s.t.Helper()
	answer := dialTo(s.t, s.nameServer).ask(rmqtest.GetRoute, fields("topic", topic), nil)
	if answer.Code != remoting.Success {
		return 0
	}
	route, err := remoting.ParseRoute(answer.Body)
	if err != nil || len(route.Queues) != 1 {
		s.t.Fatalf("got the route %+v, %v", route, err)
	}
	return route.Queues[0].Write
}

// about is the fields of a request about queue 0 of the topic.
func (s *stage) about(more ...string) map[string]string {
	return fields(append([]string{
		"consumerGroup", s.group, "topic", s.topic, "queueId", "0", "bname", s.brokerName,
	}, more...)...)
}

// ask sends a request to the broker without a client.
func (s *stage) ask(r rmqtest.Request, fields map[string]string, body []byte) *remoting.Command {
	s.t.Helper()
	return dialTo(s.t, s.broker).ask(r, fields, body)
}

func (s *stage) offset(r rmqtest.Request, more ...string) int64 {
	s.t.Helper()
	answer := s.ask(r, s.about(more...), nil)
	n, err := strconv.ParseInt(answer.ExtFields["offset"], 10, 64)
	if err != nil {
		s.t.Fatalf("request %d: got %+v", r, answer)
	}
	return n
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
