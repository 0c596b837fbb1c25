package open

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

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
	o := topicOptions(c.RocketMQ)
	for _, t := range c.Topics {
		o.Like = append(o.Like, t.Name)
	}
	return explained(listener.EnsureRetryTopic(ctx, c.RocketMQ.Group, c.RocketMQ.NameServers, o), rocketCauses)
}

// NameServers returns nil if a name server of c answers; see
// [listener.CheckNameServers]. Call it before a consumer or a producer starts,
// which say only that a topic has no route. Without a deadline it gives up after
// ten seconds.
func NameServers(ctx context.Context, c config.Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return explained(listener.CheckNameServers(ctx, c.RocketMQ.NameServers, topicOptions(c.RocketMQ)), rocketCauses)
}

func topicOptions(m config.RocketMQ) listener.TopicOptions {
	o := listener.TopicOptions{Brokers: m.BrokerAddrs, Namespace: m.Namespace, Credentials: credentials(m)}
	if m.TLS {
		o.TLS = &tls.Config{InsecureSkipVerify: true} // as the client does
	}
	return o
}

func instanceOf(m config.RocketMQ) string {
	if m.InstanceName != "" {
		return m.InstanceName
	}
	return unique("dedup-consumer-")
}
