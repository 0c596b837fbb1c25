package listener

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// The requests in use, by their codes in the remoting protocol.
const (
	updateAndCreateTopic = 17
	getRouteByTopic      = 105
	getClusterInfo       = 106
	getTopicStats        = 202
)

type topicAdmin struct {
	remoting.Caller
	nameServers []string
}

func (a topicAdmin) ensure(ctx context.Context, topic string, queues int, o TopicOptions) error {
	masters, err := a.masters(ctx, o)
	if err != nil {
		return err
	}
	if len(o.Brokers) == 0 && a.routed(ctx, topic, masters) == nil {
		return nil // so that an account that may only consume is enough
	}
	if err := a.create(ctx, topic, queues, masters); err != nil {
		return err
	}
	return a.awaitRoute(ctx, topic, masters)
}

// masters returns the addresses of the brokers in question. Their names in the
// map are those of the name servers, or the addresses when they were given.
func (a topicAdmin) masters(ctx context.Context, o TopicOptions) (map[string]string, error) {
	found := map[string]string{}
	for _, addr := range o.Brokers {
		found[addr] = addr
	}
	if len(found) > 0 {
		return found, nil
	}
	brokers, err := a.brokers(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, b := range brokers {
		if b.Master() != "" {
			found[b.Name] = b.Master()
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the name servers know no master broker")
	}
	return found, nil
}

func (a topicAdmin) brokers(ctx context.Context, o TopicOptions) ([]remoting.Broker, error) {
	if len(o.Like) == 0 {
		body, err := a.ask(ctx, getClusterInfo, nil)
		if err != nil {
			return nil, err
		}
		cluster, err := remoting.ParseCluster(body)
		return slices.Collect(maps.Values(cluster)), err
	}
	var all []remoting.Broker
	for _, topic := range o.Like {
		body, err := a.ask(ctx, getRouteByTopic, routeRequest(o.named(topic)))
		if err != nil {
			return nil, fmt.Errorf("brokers of %s: %w", topic, err)
		}
		route, err := remoting.ParseRoute(body)
		if err != nil {
			return nil, err
		}
		all = append(all, route.Brokers...)
	}
	return all, nil
}

// ask takes the answer of the first name server that gives one.
func (a topicAdmin) ask(ctx context.Context, code int, fields map[string]string) ([]byte, error) {
	var errs []error
	for _, addr := range a.nameServers {
		body, err := a.Call(ctx, addr, code, fields)
		if err == nil {
			return body, nil
		}
		errs = append(errs, fmt.Errorf("name server %w", err))
	}
	return nil, errors.Join(errs...)
}

// create asks each broker whether it has the topic, because creating it again
// would reset the number of its queues.
func (a topicAdmin) create(ctx context.Context, topic string, queues int, masters map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(masters)) {
		_, err := a.Call(ctx, masters[name], getTopicStats, map[string]string{"topic": topic})
		if missing(err) {
			_, err = a.Call(ctx, masters[name], updateAndCreateTopic, topicRequest(topic, queues))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("broker %w", err))
		}
	}
	return errors.Join(errs...)
}

func topicRequest(topic string, queues int) map[string]string {
	return map[string]string{
		"topic":           topic,
		"defaultTopic":    "TBW102",
		"readQueueNums":   strconv.Itoa(queues),
		"writeQueueNums":  strconv.Itoa(queues),
		"perm":            "6", // read and write
		"topicFilterType": "SINGLE_TAG",
		"topicSysFlag":    "0",
		"order":           "false",
	}
}

func routeRequest(topic string) map[string]string {
	return map[string]string{"topic": topic, "acceptStandardJsonOnly": "true"}
}

// awaitRoute returns once every name server that answers routes topic to all
// masters: a client asks any one of them.
func (a topicAdmin) awaitRoute(ctx context.Context, topic string, masters map[string]string) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := a.routed(ctx, topic, masters)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("created, but not visible: %w", errors.Join(ctx.Err(), err))
		}
	}
}

func (a topicAdmin) routed(ctx context.Context, topic string, masters map[string]string) error {
	var unanswered []error
	for _, addr := range a.nameServers {
		body, err := a.Call(ctx, addr, getRouteByTopic, routeRequest(topic))
		if err != nil && !missing(err) {
			unanswered = append(unanswered, fmt.Errorf("name server %w", err))
			continue
		}
		route := remoting.Route{}
		if err == nil {
			route, err = remoting.ParseRoute(body)
		}
		if err != nil || !covers(route, masters) {
			return fmt.Errorf("name server %s does not route it to every broker yet", addr)
		}
	}
	if len(unanswered) == len(a.nameServers) {
		return errors.Join(unanswered...)
	}
	return nil
}

// covers compares names. A broker whose address was given may be registered
// under another one, so for those any route has to do.
func covers(route remoting.Route, masters map[string]string) bool {
	for name, addr := range masters {
		given := name == addr
		has := func(q remoting.Queues) bool { return q.Read > 0 && (given || q.Broker == name) }
		if !slices.ContainsFunc(route.Queues, has) {
			return false
		}
	}
	return true
}

func missing(err error) bool {
	var answer *remoting.CodeError
	return errors.As(err, &answer) && answer.Code == remoting.TopicNotExist
}
