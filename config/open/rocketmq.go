package open

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Options are what a configuration cannot say. The zero value works.
type Options struct {
	Verifiers map[string]dedup.Verifier // by topic
	Producer  listener.Producer         // see [listener.Options]; that of [Producer], started, will do
	Guard     dedup.Options             // observer, logger and timeouts of the engine
}

// Listener returns the listener for the push consumer that [PushConsumer] makes
// of the same configuration. It does not contact s.
func Listener(c config.Config, s store.Store, o Options) (*listener.DedupConcurrentListener, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := listenerOptions(c, o)
	if err != nil {
		return nil, err
	}
	return listener.NewDedupConcurrentListener(c.RocketMQ.Group, s, options)
}

func listenerOptions(c config.Config, o Options) (listener.Options, error) {
	m := c.RocketMQ
	options := listener.Options{
		Application:       c.Application,
		Namespace:         m.Namespace,
		MaxReconsumeTimes: int32(m.MaxReconsumeTimes),
		ConsumeTimeout:    m.ConsumeTimeout,
		BatchSize:         m.ConsumeMessageBatchMaxSize,
		DelayLevels:       m.DelayLevels,
		Policy:            c.PolicyOf(config.Topic{}),
		Producer:          o.Producer,
		Guard:             o.Guard,
	}
	// A topic's policy is complete, and its 0 lifts the limit: nothing may be
	// put in its place.
	options.Policy.MaxAttempts = 0
	var errs []error
	known := map[string]bool{}
	for _, t := range c.Topics {
		key, err := keyOf(t)
		errs = append(errs, err)
		policy := c.PolicyOf(t)
		policy.Verifier = o.Verifiers[t.Name]
		options.Topics = append(options.Topics, listener.Topic{Name: t.Name, Key: key, Policy: policy})
		known[t.Name] = true
	}
	for topic := range o.Verifiers {
		if !known[topic] {
			errs = append(errs, fmt.Errorf("open: Options.Verifiers: topic %q is not in the configuration", topic))
		}
	}
	return options, errors.Join(errs...)
}

func keyOf(t config.Topic) (listener.KeyFunc, error) {
	if t.Key == "" {
		return listener.DefaultKey(), nil
	}
	return listener.ParseKey(t.Key)
}

// PushConsumer returns the consumer that c describes, neither subscribed nor
// started, with an instance name that no other client has unless c gives it
// one.
//
// The client has one TLS switch for the whole process: rocketmq.tls turns it on
// for its other clients, too.
func PushConsumer(c config.Config) (rocketmq.PushConsumer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := rocketmq.NewPushConsumer(consumerOptions(c)...)
	if err != nil {
		return nil, fmt.Errorf("rocketmq.name_servers: %w", err)
	}
	return p, nil
}

func consumerOptions(c config.Config) []consumer.Option {
	m := c.RocketMQ
	from := consumer.ConsumeFromLastOffset
	if m.ConsumeFrom == "first" {
		from = consumer.ConsumeFromFirstOffset
	}
	options := []consumer.Option{
		consumer.WithGroupName(m.Group),
		consumer.WithNsResolver(newNameServers(m.NameServers)),
		consumer.WithNamespace(m.Namespace),
		consumer.WithInstance(instanceOf(m)),
		consumer.WithCredentials(credentials(m)),
		consumer.WithConsumerModel(consumer.Clustering),
		consumer.WithConsumeFromWhere(from),
		consumer.WithConsumeMessageBatchMaxSize(m.ConsumeMessageBatchMaxSize),
		consumer.WithPullBatchSize(int32(m.PullBatchSize)),
		consumer.WithConsumeGoroutineNums(m.ConsumeGoroutines),
		consumer.WithConsumeTimeout(m.ConsumeTimeout),
		consumer.WithMaxReconsumeTimes(int32(m.MaxReconsumeTimes)),
	}
	if m.TLS { // "false" would turn it off for others
		options = append(options, consumer.WithTls(true))
	}
	return options
}

// Subscribe subscribes p to every topic of c, with its tags, and has l call h
// for their messages. Call it before p starts.
func Subscribe(c config.Config, l *listener.DedupConcurrentListener, p listener.Subscriber, h listener.Handler) error {
	for _, t := range c.Topics {
		if err := l.Subscribe(p, t.Name, Selector(t), h); err != nil {
			return err
		}
	}
	return nil
}

// Selector chooses the messages of t by its tags.
func Selector(t config.Topic) consumer.MessageSelector {
	if t.Tags == "" {
		return consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}
	}
	return consumer.MessageSelector{Type: consumer.TAG, Expression: t.Tags}
}

// RetryTopic makes sure that the retry topic of c's group exists; see
// [listener.EnsureRetryTopic]. Call it before the consumer starts. It also finds
// out whether the name servers answer and the topics exist. Without a deadline
// it gives up after ten seconds.
func RetryTopic(ctx context.Context, c config.Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	o := listener.TopicOptions{
		Brokers:     c.RocketMQ.BrokerAddrs,
		Namespace:   c.RocketMQ.Namespace,
		Credentials: credentials(c.RocketMQ),
	}
	for _, t := range c.Topics {
		o.Like = append(o.Like, t.Name)
	}
	if c.RocketMQ.TLS {
		o.TLS = &tls.Config{InsecureSkipVerify: true} // as the client does
	}
	return explained(listener.EnsureRetryTopic(ctx, c.RocketMQ.Group, c.RocketMQ.NameServers, o), rocketCauses)
}

// Producer returns a producer for the brokers of c, not started, with an
// instance name of its own. It adds no namespace to topics, so that it can serve
// as [Options].Producer; [Message] adds it.
func Producer(c config.Config) (rocketmq.Producer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := c.RocketMQ
	options := []producer.Option{
		producer.WithGroupName(m.Group),
		producer.WithNsResolver(newNameServers(m.NameServers)),
		producer.WithInstanceName(unique("dedup-producer-")),
		producer.WithCredentials(credentials(m)),
		producer.WithRetry(2),
	}
	if m.TLS {
		options = append(options, producer.WithTls(true))
	}
	p, err := rocketmq.NewProducer(options...)
	if err != nil {
		return nil, fmt.Errorf("rocketmq.name_servers: %w", err)
	}
	return p, nil
}

// Message is a new message to topic in the namespace of c.
func Message(c config.Config, topic string, body []byte) *primitive.Message {
	if n := c.RocketMQ.Namespace; n != "" {
		topic = n + "%" + topic
	}
	return primitive.NewMessage(topic, body)
}

func credentials(m config.RocketMQ) primitive.Credentials {
	return primitive.Credentials{AccessKey: m.AccessKey, SecretKey: m.SecretKey.Reveal()}
}

func instanceOf(m config.RocketMQ) string {
	if m.InstanceName != "" {
		return m.InstanceName
	}
	return unique("dedup-consumer-")
}

func unique(prefix string) string { return prefix + store.NewToken().String()[:16] }
