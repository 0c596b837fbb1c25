package listener_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	clientproducer "github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// silent drops what clients print about servers that tests have broken.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	_ = mysql.SetLogger(new(mysql.NopLogger)) // which it takes
	rlog.SetLogger(listener.ClientLogger(slog.New(slog.DiscardHandler)))
	if task := os.Getenv(victimTask); task != "" {
		beVictim(task)
	}
	if task := os.Getenv(stepTask); task != "" {
		beStep(task)
	}
	if task := os.Getenv(sailorEnv); task != "" {
		beSailor(task)
	}
	flag.Parse()
	// The broker's tests wait for it most of the time; too many of them at once
	// make the real one late. What -parallel says goes.
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		n := "8"
		if os.Getenv("DEDUP_TEST_NAMESRV") != "" {
			n = "4"
		}
		_ = p.Value.Set(n) // a number
	}
	os.Exit(m.Run())
}

// place is where a consumer works, in a form that another process can be told.
type place struct {
	NameServer, Redis string          // host:port
	MySQL             string          // host:port; if there is one the records are there
	Transact          bool            // orders are booked there, in transactions with their records
	Next              string          // topic of a second step that they are then handed over to, if there is one
	Prefix            string          // of the records in Redis
	Namespace         string          // of topic and group
	Topic, Group      string          // without it
	Levels            []time.Duration // the broker's delays
}

// named is the name under which the broker knows a topic or group.
func (p place) named(resource string) string {
	if p.Namespace == "" {
		return resource
	}
	return p.Namespace + "%" + resource
}

// scene is a topic and a consumer group of one test, and the ledger of what the
// group's members did.
type scene struct {
	place
	ledger
	stage
	t        *testing.T
	rmq      *rmqtest.Broker // in process
	broker   string          // host:port
	records  store.Store     // of the members that join from now on
	producer rocketmq.Producer
	members  int
}

// newScene prepares a topic with so many queues.
func newScene(t *testing.T, on stage, queues int) *scene {
	t.Helper()
	return newSceneIn(t, on, "", queues)
}

func newSceneIn(t *testing.T, on stage, namespace string, queues int) *scene {
	t.Helper()
	s := &scene{t: t, stage: on, place: place{Namespace: namespace}}
	name := "listener-test-" + store.NewToken().String()[:12]
	s.Topic, s.Group, s.Prefix = name, name, name+":"
	s.enter()
	s.findBroker()
	s.createTopic(s.Topic, queues)
	s.createGroup(s.Group)
	s.startProducer(sendTimeout)
	return s
}

// The commands of the broker and the name server in use here.
const (
	clusterInfo             = 106
	topicStats              = 202
	deleteTopicOnBroker     = 215
	deleteTopicOnNameServer = 216
)

func (s *scene) findBroker() {
	s.t.Helper()
	s.patiently("find the broker", func() error {
		body, err := remoting.Caller{}.Call(s.t.Context(), s.NameServer, clusterInfo, nil)
		if err != nil {
			return err
		}
		brokers, err := remoting.ParseCluster(body)
		for _, b := range brokers {
			s.broker = b.Master()
		}
		if err == nil && s.broker == "" {
			err = errors.New("the name server knows none")
		}
		return err
	})
}

// patiently repeats what a busy broker may not answer in time.
func (s *scene) patiently(what string, do func() error) {
	s.t.Helper()
	var err error
	defer func() {
		if err != nil {
			s.t.Log(err)
		}
	}()
	eventually(s.t, what, func() bool { err = do(); return err == nil })
}

func (s *scene) createTopic(topic string, queues int) {
	s.t.Helper()
	o := listener.TopicOptions{Namespace: s.Namespace}
	s.patiently("create "+topic, func() error {
		return listener.CreateTopic(s.t.Context(), topic, queues, []string{s.NameServer}, o)
	})
	s.t.Cleanup(func() { s.deleteTopic(s.named(topic)) })
}

func (s *scene) createGroup(group string) {
	s.t.Helper()
	o := listener.TopicOptions{Namespace: s.Namespace}
	s.patiently("create the retry topic", func() error {
		return listener.EnsureRetryTopic(s.t.Context(), group, []string{s.NameServer}, o)
	})
	s.t.Cleanup(func() {
		s.deleteTopic("%RETRY%" + s.named(group))
		s.deleteTopic("%DLQ%" + s.named(group))
	})
}

func (s *scene) deleteTopic(topic string) {
	s.tell(s.broker, deleteTopicOnBroker, map[string]string{"topic": topic})
	s.tell(s.NameServer, deleteTopicOnNameServer, map[string]string{"topic": topic})
}

// tell sends a command that tidies up. Its answer is of no use: a broker without
// timers deletes the topic and then reports an error of its own.
func (s *scene) tell(addr string, code int, fields map[string]string) {
	_, _ = remoting.Caller{}.Call(context.Background(), addr, code, fields)
}

// sendTimeout is longer than a busy broker needs: a message that is sent again
// meanwhile is a copy that a test does not know of.
const sendTimeout = 30 * time.Second

// startProducer has what is sent from now on sent again when the broker has not
// answered in time.
func (s *scene) startProducer(timeout time.Duration) {
	s.t.Helper()
	p, err := rocketmq.NewProducer(
		clientproducer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer})),
		clientproducer.WithGroupName(s.Group+"-producers"),
		clientproducer.WithInstanceName(s.Group+"-producer-"+timeout.String()),
		clientproducer.WithRetry(2), clientproducer.WithSendMsgTimeout(timeout),
	)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.producer = p
	s.t.Cleanup(func() { _ = p.Shutdown() }) // all is sent
}

// order is a message with id as its key and as its body.
func order(topic, id string) *primitive.Message {
	return primitive.NewMessage(topic, []byte(id)).WithKeys([]string{id})
}

// send sends a new message for every id.
func (s *scene) send(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.deliver(order(s.named(s.Topic), id))
	}
}

// sendTogether sends a new message for every id, all as one batch.
func (s *scene) sendTogether(ids ...string) {
	s.t.Helper()
	var batch []*primitive.Message
	for _, id := range ids {
		batch = append(batch, order(s.named(s.Topic), id))
	}
	s.deliver(batch...)
}

// deliver sends messages, several of them as one batch.
func (s *scene) deliver(msgs ...*primitive.Message) {
	s.t.Helper()
	if _, err := s.producer.SendSync(context.Background(), msgs...); err != nil {
		s.t.Errorf("send: %v", err)
	}
}

var maxOffset = regexp.MustCompile(`"maxOffset":(\d+)`)

// dead is how many messages the group's dead-letter queue has been given. The
// broker creates that queue with its first message.
func (s *scene) dead() (count int) {
	s.t.Helper()
	s.patiently("look into the dead-letter queue", func() error {
		body, err := remoting.Caller{}.Call(context.Background(), s.broker, topicStats,
			map[string]string{"topic": "%DLQ%" + s.named(s.Group)})
		var answer *remoting.CodeError
		if errors.As(err, &answer) && answer.Code == remoting.TopicNotExist {
			return nil
		}
		for _, found := range maxOffset.FindAllSubmatch(body, -1) {
			n, _ := strconv.Atoi(string(found[1])) // digits
			count += n
		}
		return err
	})
	return count
}
