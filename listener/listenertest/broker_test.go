package listenertest_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// The commands with which a test tidies up.
const (
	clusterInfo             = 106
	deleteTopicOnBroker     = 215
	deleteTopicOnNameServer = 216
)

// A message is what the real broker and the real client make of it: on its first
// delivery, and on two retries.
func TestMessagesLookAsOnARealBroker(t *testing.T) {
	server := storetest.Server(t, "DEDUP_TEST_NAMESRV")
	rlog.SetLogger(listener.ClientLogger(slog.New(slog.DiscardHandler)))
	name := "listenertest-" + store.NewToken().String()[:12]
	createTopics(t, server, name)

	sent := primitive.NewMessage(name, []byte("hello, broker")).WithTag("eu").WithKeys([]string{"7"})
	sent.WithProperty("mine", "x")
	sent.Flag = 3
	send(t, server, name, sent)
	arrived := receive(t, server, name, 3)

	c := listenertest.Consumer{Group: name}
	m := c.Message(sent) // has the UNIQ_KEY that the producer gave it
	first := m
	for i, want := range arrived {
		if i > 0 {
			m = c.Retry(m, 1)
		}
		if got, want := face(m, first), face(want, arrived[0]); got != want {
			t.Errorf("delivery %d: got\n%s\nwant\n%s", i+1, got, want)
		}
	}
}

// face is all of m that is the same on each broker, first being its first copy.
func face(m, first *primitive.MessageExt) string {
	var b strings.Builder
	fmt.Fprintln(&b, m.Topic, m.Queue.Topic, m.Queue.QueueId, m.QueueOffset, string(m.Body), m.Flag, m.SysFlag, m.BodyCRC)
	fmt.Fprintln(&b, "size", int(m.StoreSize)-len(m.GetProperty(primitive.PropertyCluster)))
	fmt.Fprintln(&b, m.MsgId, len(m.OffsetMsgId), m.ReconsumeTimes, m.PreparedTransactionOffset, m.TransactionId)
	fmt.Fprintln(&b, m.BornTimestamp == first.BornTimestamp, m.OffsetMsgId == first.OffsetMsgId,
		m.GetProperty(primitive.PropertyOriginMessageId) == first.OffsetMsgId)
	properties := m.GetProperties()
	for _, own := range []string{
		primitive.PropertyCluster, primitive.PropertyOriginMessageId, primitive.PropertyConsumeStartTime,
	} {
		if properties[own] != "" {
			properties[own] = "…"
		}
	}
	for _, p := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintln(&b, p, properties[p])
	}
	return b.String()
}

func createTopics(t *testing.T, server, name string) {
	t.Helper()
	servers, o := []string{server}, listener.TopicOptions{}
	if err := listener.CreateTopic(t.Context(), name, 1, servers, o); err != nil {
		t.Fatal(err)
	}
	if err := listener.EnsureRetryTopic(t.Context(), name, servers, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		body, err := remoting.Caller{}.Call(ctx, server, clusterInfo, nil)
		if err != nil {
			t.Log(err)
		}
		brokers, _ := remoting.ParseCluster(body)
		for _, topic := range []string{name, "%RETRY%" + name} {
			fields := map[string]string{"topic": topic}
			for _, b := range brokers { // answers are of no use here
				_, _ = remoting.Caller{}.Call(ctx, b.Master(), deleteTopicOnBroker, fields)
			}
			_, _ = remoting.Caller{}.Call(ctx, server, deleteTopicOnNameServer, fields)
		}
	})
}

func send(t *testing.T, server, name string, m *primitive.Message) {
	t.Helper()
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{server}),
		producer.WithGroupName(name+"-producer"), producer.WithInstanceName(name+"-producer"))
	if err == nil {
		err = p.Start()
	}
	if err == nil {
		defer p.Shutdown()
		_, err = p.SendSync(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// receive returns the first deliveries of the one message there is, each of which
// but the last is sent back.
func receive(t *testing.T, server, name string, deliveries int) (all []*primitive.MessageExt) {
	t.Helper()
	c, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{server}), consumer.WithGroupName(name),
		consumer.WithInstance(name+"-consumer"), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *primitive.MessageExt, deliveries+1)
	err = c.Subscribe(name, consumer.MessageSelector{}, func(ctx context.Context,
		msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got <- msgs[0]
		if cc, _ := primitive.GetConcurrentlyCtx(ctx); int(msgs[0].ReconsumeTimes) < deliveries-1 {
			cc.DelayLevelWhenNextConsume = 1
			return consumer.ConsumeRetryLater, nil
		}
		return consumer.ConsumeSuccess, nil
	})
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Shutdown()
	patience := time.After(90 * time.Second)
	for len(all) < deliveries {
		select {
		case m := <-got:
			all = append(all, m)
		case <-patience:
			t.Fatalf("got %d deliveries, want %d", len(all), deliveries)
		}
	}
	return all
}
