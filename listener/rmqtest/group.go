package rmqtest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// group is a consumer group.
type group struct {
	members    map[string]*member // by client id
	subscribed map[string]string  // tag expression by topic, as the last heartbeat said
}

type member struct {
	conn *conn
	seen time.Time
}

// memberExpiry is how long a member stays without a heartbeat on a connection
// that lives: as long as with the real broker.
const (
	memberExpiry = 2 * time.Minute
	memberCheck  = 10 * time.Second
)

// heartbeat is what clients tell of themselves.
type heartbeat struct {
	Client    string `json:"clientID"`
	Producers []struct {
		Group string `json:"groupName"`
	} `json:"producerDataSet"`
	Consumers []struct {
		Group         string `json:"groupName"`
		Model         string `json:"messageModel"`
		Subscriptions []struct {
			Topic      string `json:"topic"`
			Expression string `json:"subString"`
		} `json:"subscriptionDataSet"`
	} `json:"consumerDataSet"`
}

const broadcasting = "BROADCASTING"

// group returns a group, which it makes if need be.
func (b *Broker) group(name string) *group {
	g := b.groups[name]
	if g == nil {
		g = &group{members: map[string]*member{}, subscribed: map[string]string{}}
		b.groups[name] = g
	}
	return g
}

func (b *Broker) onHeartbeat(r *request) *remoting.Command {
	var h heartbeat
	if err := json.Unmarshal(r.Body, &h); err != nil {
		return refuse(systemError, "heartbeat: %v", err)
	}
	for _, c := range h.Consumers {
		if err := checkTopic(retryPrefix + c.Group); err != nil {
			return refuse(invalidParameter, "%v", err)
		}
	}
	for name, conns := range b.register(r.conn, h) {
		notify(name, conns)
	}
	return succeed(nil, nil)
}

// register returns whom to tell that a group has changed.
func (b *Broker) register(c *conn, h heartbeat) map[string][]*conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.client = h.Client
	for _, p := range h.Producers {
		if b.producers[p.Group] == nil {
			b.producers[p.Group] = map[string]*conn{}
		}
		b.producers[p.Group][h.Client] = c
	}
	changed := map[string][]*conn{}
	for _, data := range h.Consumers {
		b.log.ensure(retryPrefix+data.Group, 1)
		topics := map[string]string{}
		for _, s := range data.Subscriptions {
			topics[s.Topic] = s.Expression
		}
		g := b.group(data.Group)
		if g.join(h.Client, c, topics) && data.Model != broadcasting {
			changed[data.Group] = g.conns()
		}
	}
	return changed
}

// join reports whether the other members have to hear of it.
func (g *group) join(client string, c *conn, topics map[string]string) bool {
	m := g.members[client]
	known := m != nil && m.conn == c
	g.members[client] = &member{conn: c, seen: time.Now()}
	names := slices.Sorted(maps.Keys(topics))
	same := slices.Equal(names, slices.Sorted(maps.Keys(g.subscribed)))
	g.subscribed = topics
	return !known || !same
}

func (g *group) conns() []*conn {
	var all []*conn
	for _, m := range g.members {
		all = append(all, m.conn)
	}
	return all
}

// notify makes members of a group look at once who else there is.
func notify(name string, conns []*conn) {
	for _, c := range conns {
		c.send(&remoting.Command{
			Code: consumerIDsChanged, Language: "GO", Version: version, Flag: remoting.IsOneWay,
			ExtFields: map[string]string{"consumerGroup": name},
		})
	}
}

func (b *Broker) onConsumerIDs(r *request) *remoting.Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[r.text("consumerGroup")]
	if g == nil || len(g.members) == 0 {
		return refuse(systemError, "no consumer for this group, %s", r.text("consumerGroup"))
	}
	return asJSON(map[string]any{"consumerIdList": slices.Sorted(maps.Keys(g.members))})
}
