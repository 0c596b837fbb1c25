package open_test

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// onServers is a configuration with names that nobody else has.
func onServers(t *testing.T) config.Config {
	t.Helper()
	c := at(storetest.Server(t, "DEDUP_TEST_REDIS"))
	_, port, err := net.SplitHostPort(storetest.Server(t, "DEDUP_TEST_NAMESRV"))
	if err != nil {
		t.Fatal(err)
	}
	own := "open-" + store.NewToken().String()[:12]
	c.RocketMQ.NameServers = []string{net.JoinHostPort("localhost", port)} // a name on purpose
	c.RocketMQ.Group = own
	c.RocketMQ.ConsumeMessageBatchMaxSize = 1 // or finished messages come back with others, and end twice
	c.Topics = []config.Topic{{Name: own + "-orders", Key: "keys", Tags: "paid"}, {Name: own + "-refunds", Key: "keys"}}
	return c
}

// consumed runs a consumer of c until as many messages as wanted have ended,
// and returns how often each key ran.
func consumed(t *testing.T, c config.Config, ended int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	records, closeRecords, err := open.Store(ctx, c)
	must(t, err)
	var mu sync.Mutex // guards runs and ended
	runs, done := map[string]int{}, make(chan struct{})
	observer := dedup.ObserverFunc(func(_ context.Context, e dedup.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Outcome.Finished() {
			if ended--; ended == 0 {
				close(done)
			}
		}
	})
	l, err := open.Listener(c, records, open.Options{Guard: dedup.Options{Observer: observer}})
	must(t, err)
	p, err := open.PushConsumer(c)
	must(t, err)
	must(t, open.Subscribe(c, l, p, func(ctx context.Context, m *primitive.MessageExt) error {
		mu.Lock()
		defer mu.Unlock()
		claim, _ := dedup.FromContext(ctx)
		runs[claim.Key.Topic+" "+claim.Key.ID]++
		if m.GetKeys() == "fails" && m.ReconsumeTimes == 0 {
			return errors.New("the first run fails")
		}
		return nil
	}))
	must(t, open.RetryTopic(ctx, c))
	must(t, p.Start())
	select {
	case <-done:
	case <-ctx.Done():
		t.Error("not all messages ended in time")
	}
	must(t, l.Shutdown(ctx, p))
	must(t, closeRecords())
	mu.Lock()
	defer mu.Unlock()
	return runs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// produce sends messages given as topic, tag, key.
func produce(t *testing.T, c config.Config, messages [][3]string) {
	t.Helper()
	for _, topic := range c.Topics {
		must(t, listener.CreateTopic(t.Context(), topic.Name, 2, c.RocketMQ.NameServers,
			listener.TopicOptions{Namespace: c.RocketMQ.Namespace}))
	}
	p, err := open.Producer(c)
	must(t, err)
	must(t, p.Start())
	defer func() { must(t, p.Shutdown()) }()
	for _, m := range messages {
		message := open.Message(c, m[0], []byte("body")).WithTag(m[1]).WithKeys([]string{m[2]})
		_, err := p.SendSync(t.Context(), message)
		must(t, err)
	}
}

func TestAConsumerFromAConfiguration(t *testing.T) {
	t.Parallel()
	for name, namespace := range map[string]string{"plain": "", "with a namespace": "shop"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := onServers(t)
			c.RocketMQ.Namespace = namespace
			orders, refunds := c.Topics[0].Name, c.Topics[1].Name
			produce(t, c, [][3]string{
				{orders, "draft", "A1"}, // nobody subscribed to this tag
				{orders, "paid", "A2"}, {orders, "paid", "A2"}, {orders, "paid", "fails"},
				{refunds, "any", "A2"},
			})
			got := consumed(t, c, 4)
			want := map[string]int{orders + " A2": 1, orders + " fails": 2, refunds + " A2": 1}
			if !maps.Equal(got, want) {
				t.Errorf("runs: got %v, want %v", got, want)
			}
		})
	}
}

func TestStartingNamesTheSettingThatIsWrong(t *testing.T) {
	t.Parallel()
	good := onServers(t)
	produce(t, good, nil)
	must(t, open.RetryTopic(t.Context(), good))
	for _, row := range []struct {
		name, setting string
		change        func(*config.Config)
	}{
		{"no name server there", "rocketmq.name_servers", func(c *config.Config) {
			c.RocketMQ.NameServers = []string{"127.0.0.1:1"}
		}},
		{"a topic that does not exist", "topics", func(c *config.Config) {
			c.Topics = []config.Topic{{Name: c.RocketMQ.Group + "-nowhere", Key: "keys"}}
		}},
		{"TLS", "rocketmq.tls", func(c *config.Config) {
			c.RocketMQ.TLS = true
			c.RocketMQ.NameServers = []string{chatty(t)}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := good
			row.change(&c)
			ctx, cancel := context.WithTimeout(t.Context(), ample)
			defer cancel()
			err := open.RetryTopic(ctx, c)
			if err == nil || !strings.HasPrefix(err.Error(), row.setting+": ") {
				t.Errorf("got %v, want an error that begins with %s", err, row.setting)
			}
			err = open.NameServers(ctx, c)
			if ok := row.setting == "topics"; ok != (err == nil) || !ok && !strings.HasPrefix(err.Error(), row.setting+": ") {
				t.Errorf("NameServers: got %v, want an error that begins with %s if it is about them", err, row.setting)
			}
			var mismatch tls.RecordHeaderError
			if row.setting == "rocketmq.tls" && !errors.As(err, &mismatch) {
				t.Errorf("got %v, want the cause to be wrapped", err)
			}
		})
	}
}

// chatty answers everybody with something that is not TLS.
func chatty(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("what do you want?")) // the client judges what it gets
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestABrokerNobodyCanReachIsRefusedInTime(t *testing.T) {
	t.Parallel()
	c := onServers(t)
	produce(t, c, nil)
	c.RocketMQ.BrokerAddrs = []string{"127.0.0.1:1"}
	began := time.Now()
	err := open.RetryTopic(t.Context(), c)
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq.broker_addrs: ") || time.Since(began) > ample {
		t.Errorf("got %v after %v, want an error about the broker's address", err, time.Since(began))
	}
}
