package open

import (
	"fmt"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

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

func unique(prefix string) string { return prefix + store.NewToken().String()[:16] }
