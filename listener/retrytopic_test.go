package listener_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// cluster is one name server and some brokers that know topics only.
type cluster struct {
	nameServer string
	brokers    map[string]string // addresses by name

	mu      sync.Mutex
	topics  map[string]map[string]string // queues by broker and topic
	hidden  int                          // route requests that do not see new topics yet
	refuse  string                       // the broker that refuses to create topics
	seen    []string                     // requests in order: code, server and topic
	account string                       // access key of the last request
	vain    func()                       // called for each route request that does not see a topic which is there
}

func newCluster(t *testing.T, brokers ...string) *cluster {
	t.Helper()
	c := &cluster{brokers: map[string]string{}, topics: map[string]map[string]string{}}
	c.nameServer = c.listen(t, "")
	for _, name := range brokers {
		c.topics[name] = map[string]string{}
		c.brokers[name] = c.listen(t, name)
	}
	return c
}

func (c *cluster) listen(t *testing.T, broker string) string {
	return serve(t, func(conn net.Conn) {
		if request, err := remoting.Read(conn); err == nil {
			_ = remoting.Write(conn, c.answer(broker, request)) // a caller that left is none of ours
		}
	})
}

// serve is the address of a server that hangs up after handle.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handle(conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

func (c *cluster) answer(broker string, r *remoting.Command) *remoting.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	topic, answer := r.ExtFields["topic"], &remoting.Command{Opaque: r.Opaque, Flag: 1}
	c.seen = append(c.seen, strings.TrimSpace(fmt.Sprintf("%d %s %s", r.Code, broker, topic)))
	c.account = r.ExtFields["AccessKey"]
	_, exists := c.topics[broker][topic]
	switch {
	case r.Code == 106:
		answer.Body = c.members()
	case r.Code == 105:
		answer.Code, answer.Body = c.route(topic)
	case r.Code == 202 && !exists:
		answer.Code = 17
	case r.Code == 17 && c.refuse == broker:
		answer.Code, answer.Remark = 16, "no permission"
	case r.Code == 17:
		c.topics[broker][topic] = r.ExtFields["readQueueNums"] + "/" + r.ExtFields["writeQueueNums"]
	}
	return answer
}

// members answers as name servers do, with bare numbers as names.
func (c *cluster) members() []byte {
	var list []string
	for name, addr := range c.brokers {
		list = append(list, fmt.Sprintf(`%q:{"brokerName":%q,"brokerAddrs":{0:%q,1:"10.0.0.9:1"}}`, name, name, addr))
	}
	list = append(list, `"slaves":{"brokerName":"slaves","brokerAddrs":{2:"10.0.0.9:1"}}`)
	return []byte(`{"brokerAddrTable":{` + strings.Join(list, ",") + `}}`)
}

func (c *cluster) route(topic string) (code int, body []byte) {
	if c.hidden > 0 {
		c.hidden--
		exists := func(topics map[string]string) bool { return topics[topic] != "" }
		if c.vain != nil && slices.ContainsFunc(slices.Collect(maps.Values(c.topics)), exists) {
			c.vain()
		}
		return 17, nil
	}
	var r remoting.Route
	for name, topics := range c.topics {
		if topics[topic] != "" {
			r.Brokers = append(r.Brokers, remoting.Broker{Name: name, Addresses: map[string]string{"0": c.brokers[name]}})
			r.Queues = append(r.Queues, remoting.Queues{Broker: name, Read: 1, Write: 1})
		}
	}
	if len(r.Brokers) == 0 {
		return 17, nil
	}
	body, _ = json.Marshal(r)
	return 0, body
}

func (c *cluster) have(t *testing.T, broker, topic, want string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.topics[broker][topic]; got != want {
		t.Errorf("%s on %s: got %q queues, want %q", topic, broker, got, want)
	}
}

func (c *cluster) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

func TestRetryTopicIsCreatedOnEveryMaster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	o := listener.TopicOptions{Namespace: "shop", Credentials: primitive.Credentials{AccessKey: "ak", SecretKey: "sk"}}
	if err := listener.EnsureRetryTopic(t.Context(), "g", []string{c.nameServer}, o); err != nil {
		t.Fatal(err)
	}
	c.have(t, "a", "%RETRY%shop%g", "1/1")
	c.have(t, "b", "%RETRY%shop%g", "1/1")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != "ak" {
		t.Errorf("got access key %q, want the requests signed", c.account)
	}
}

func TestTopicThatExistsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	c.topics["a"]["%RETRY%g"] = "4/4"
	for range 2 {
		if err := listener.EnsureRetryTopic(t.Context(), "g", []string{c.nameServer}, listener.TopicOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.have(t, "a", "%RETRY%g", "4/4")
	c.have(t, "b", "%RETRY%g", "1/1")
	if n := len(c.requests()); c.requests()[n-1] != "105  %RETRY%g" || c.requests()[n-2] != "106" {
		t.Errorf("got %q, want the second call to ask the name server only", c.requests())
	}
}

func TestTopicIsCreatedOnlyWhereItsModelIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	c.topics["b"]["orders"] = "8/8"
	o := listener.TopicOptions{Like: []string{"orders"}}
	if err := listener.CreateTopic(t.Context(), "refunds", 3, []string{c.nameServer}, o); err != nil {
		t.Fatal(err)
	}
	c.have(t, "a", "refunds", "")
	c.have(t, "b", "refunds", "3/3")

	o.Like = []string{"nowhere"}
	err := listener.CreateTopic(t.Context(), "refunds", 3, []string{c.nameServer}, o)
	if err == nil || !strings.Contains(err.Error(), "brokers of nowhere: name server "+c.nameServer+": code 17") {
		t.Errorf("got %v, want the model reported as missing", err)
	}
}

func TestTopicIsCreatedOnTheGivenBrokers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	c.topics["b"]["orders"] = "8/8" // a route alone does not prove that a has it
	o := listener.TopicOptions{Brokers: []string{c.brokers["a"], c.brokers["b"]}}
	if err := listener.CreateTopic(t.Context(), "orders", 2, []string{c.nameServer}, o); err != nil {
		t.Fatal(err)
	}
	c.have(t, "a", "orders", "2/2")
	c.have(t, "b", "orders", "8/8")
}

func TestRefusalOfABrokerIsReported(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	c.refuse = "a"
	err := listener.EnsureRetryTopic(t.Context(), "g", []string{c.nameServer}, listener.TopicOptions{})
	want := "listener: topic %RETRY%g: broker " + c.brokers["a"] + ": code 16: no permission"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	c.have(t, "b", "%RETRY%g", "1/1")
}

func TestCreationWaitsForTheRoute(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a")
	c.hidden = 4
	if err := listener.EnsureRetryTopic(t.Context(), "g", []string{c.nameServer}, listener.TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hidden != 0 {
		t.Errorf("returned %d route requests too early", c.hidden)
	}
}

func TestCreationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.hidden, c.vain = 1<<30, cancel
	err := listener.EnsureRetryTopic(ctx, "g", []string{c.nameServer}, listener.TopicOptions{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "created, but not visible") {
		t.Errorf("got %v, want its end and what is missing", err)
	}
}

func (c *cluster) has(broker, topic string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics[broker][topic] != ""
}

func TestTopicThatNoNameServerConfirmsIsAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mute := serve(t, func(net.Conn) {
		if c.has("a", "%RETRY%g") {
			cancel()
		}
	})
	o := listener.TopicOptions{Brokers: []string{c.brokers["a"]}}
	err := listener.EnsureRetryTopic(ctx, "g", []string{mute}, o)
	if err == nil || !strings.Contains(err.Error(), "name server "+mute+": ") {
		t.Errorf("got %v, want the name server that does not answer", err)
	}
	c.have(t, "a", "%RETRY%g", "1/1")
}

func TestOneNameServerIsEnough(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a")
	nameServers := []string{"127.0.0.1:1", c.nameServer}
	if err := listener.EnsureRetryTopic(t.Context(), "g", nameServers, listener.TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	err := listener.EnsureRetryTopic(t.Context(), "g", nameServers[:1], listener.TopicOptions{})
	if err == nil || !strings.Contains(err.Error(), "name server 127.0.0.1:1: ") {
		t.Errorf("got %v, want the name server that does not answer", err)
	}
}

func TestNameServersThatDoNotAnswerAreNamed(t *testing.T) {
	t.Parallel()
	check := func(servers ...string) error {
		return listener.CheckNameServers(t.Context(), servers, listener.TopicOptions{})
	}
	if err := check("127.0.0.1:1", newCluster(t).nameServer); err != nil {
		t.Errorf("got %v, although one answers", err)
	}
	err := check("127.0.0.1:1", "127.0.0.1:2")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1: ") || !strings.Contains(err.Error(), "127.0.0.1:2: ") {
		t.Errorf("got %v, want both name servers", err)
	}
	if err := check(); err == nil || !strings.Contains(err.Error(), "no name servers") {
		t.Errorf("got %v, want an error about the empty list", err)
	}
}

func TestCreationRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	servers, o := []string{c.nameServer}, listener.TopicOptions{}
	for want, err := range map[string]error{
		"the group is empty":           listener.EnsureRetryTopic(t.Context(), "", servers, o),
		"no name servers":              listener.EnsureRetryTopic(t.Context(), "g", nil, o),
		"want a name":                  listener.CreateTopic(t.Context(), "", 1, servers, o),
		"want a name and at least one": listener.CreateTopic(t.Context(), "t", 0, servers, o),
		"no master broker":             listener.EnsureRetryTopic(t.Context(), "g", servers, o),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestTopicsOnARealBroker(t *testing.T) {
	t.Parallel()
	servers := []string{storetest.Server(t, "DEDUP_TEST_NAMESRV")}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	name := fmt.Sprintf("topics-%d", time.Now().UnixNano())
	if err := listener.CreateTopic(ctx, name, 5, servers, listener.TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := listener.EnsureRetryTopic(ctx, name, servers, listener.TopicOptions{Like: []string{name}}); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]int{name: 5, "%RETRY%" + name: 1} {
		brokers := wantQueues(ctx, t, servers[0], topic, want)
		for _, o := range []listener.TopicOptions{{Like: []string{name}}, {Brokers: brokers}} {
			if err := listener.CreateTopic(ctx, topic, 3, servers, o); err != nil {
				t.Fatal(err)
			}
		}
		wantQueues(ctx, t, servers[0], topic, want)
	}
	err := listener.CreateTopic(ctx, "no blanks", 1, servers, listener.TopicOptions{})
	if err == nil || !strings.Contains(err.Error(), "code 29: The specified topic contains illegal characters") {
		t.Errorf("got %v, want the broker's refusal", err)
	}
}

// wantQueues returns the addresses of the brokers that have topic.
func wantQueues(ctx context.Context, t *testing.T, nameServer, topic string, want int) (addresses []string) {
	t.Helper()
	body, err := remoting.Caller{}.Call(ctx, nameServer, 105, map[string]string{"topic": topic})
	if err != nil {
		t.Fatal(err)
	}
	route, err := remoting.ParseRoute(body)
	if err != nil || len(route.Queues) == 0 {
		t.Fatalf("%s: got %+v, %v, want a route", topic, route, err)
	}
	for _, q := range route.Queues {
		if q.Read != want || q.Write != want {
			t.Errorf("%s: got %+v, want %d queues", topic, q, want)
		}
	}
	for _, b := range route.Brokers {
		addresses = append(addresses, b.Master())
	}
	return addresses
}
