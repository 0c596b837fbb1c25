package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// TopicOptions says how topics are created. The zero value creates them on every
// master broker that the name servers know, in the clear and unsigned.
type TopicOptions struct {
	Brokers     []string              // host:port of the masters to create it on, instead of asking
	Like        []string              // ask only for the brokers that hold one of these topics
	Namespace   string                // the consumer's, put in front of group, topic and Like
	Credentials primitive.Credentials // of an account that may create topics, where access control is on
	TLS         *tls.Config           // nil: no TLS
}

// topicTimeout bounds a creation whose context has no deadline.
const topicTimeout = 30 * time.Second

// EnsureRetryTopic makes sure that the retry topic of group exists on every
// broker, with one queue like the broker's own default, and waits until the name
// servers route it. Call it before the consumer starts: a client that does not
// find the retry topic then looks for it again only half a minute later, and the
// first retry of a new group takes 40 seconds.
//
// It can be called any number of times by any number of processes, and leaves a
// topic that exists as it is. It ends with ctx, without a deadline after 30
// seconds. Its error names every broker that refused, with the broker's reason.
func EnsureRetryTopic(ctx context.Context, group string, nameServers []string, o TopicOptions) error {
	if group == "" {
		return errors.New("listener: retry topic: the group is empty")
	}
	return ensureTopic(ctx, "%RETRY%"+o.named(group), 1, nameServers, o)
}

// CreateTopic is [EnsureRetryTopic] for any topic: queues is the number of its
// queues on each broker that does not have it yet.
func CreateTopic(ctx context.Context, topic string, queues int, nameServers []string, o TopicOptions) error {
	if topic == "" || queues < 1 {
		return fmt.Errorf("listener: topic %q with %d queues: want a name and at least one queue", topic, queues)
	}
	return ensureTopic(ctx, o.named(topic), queues, nameServers, o)
}

// CheckNameServers returns nil as soon as one of nameServers answers, else an
// error that tells for each why not. The client says of name servers that it
// cannot reach only that a topic has no route. Of o, TLS and Credentials count. It
// ends with ctx, and takes three seconds for each that is silent.
func CheckNameServers(ctx context.Context, nameServers []string, o TopicOptions) error {
	if len(nameServers) == 0 {
		return errors.New("listener: no name servers")
	}
	if _, err := o.admin(nameServers).ask(ctx, getClusterInfo, nil); err != nil {
		return fmt.Errorf("listener: no answer: %w", err)
	}
	return nil
}

func (o TopicOptions) admin(nameServers []string) topicAdmin {
	return topicAdmin{remoting.Caller{Credentials: o.Credentials, TLS: o.TLS}, nameServers}
}

func (o TopicOptions) named(resource string) string { return inNamespace(o.Namespace, resource) }

// inNamespace is the name under which a client of namespace knows a group or topic.
func inNamespace(namespace, resource string) string {
	if namespace == "" {
		return resource
	}
	return namespace + "%" + resource
}

func ensureTopic(ctx context.Context, topic string, queues int, nameServers []string, o TopicOptions) error {
	if len(nameServers) == 0 {
		return errors.New("listener: topic " + topic + ": no name servers")
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, topicTimeout)
		defer cancel()
	}
	if err := o.admin(nameServers).ensure(ctx, topic, queues, o); err != nil {
		return fmt.Errorf("listener: topic %s: %w", topic, err)
	}
	return nil
}
