package rmqtest

import (
	"maps"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// onUnregister is how the Java client takes leave; the Go client just goes.
func (b *Broker) onUnregister(r *request) *remoting.Command {
	client, consumers, producers := r.text("clientID"), r.text("consumerGroup"), r.text("producerGroup")
	b.mu.Lock()
	delete(b.producers[producers], client)
	b.mu.Unlock()
	b.removeMembers(func(group, id string, _ *member) bool { return group == consumers && id == client })
	return succeed(nil, nil)
}

// leaveGroups removes whoever was connected by c.
func (b *Broker) leaveGroups(c *conn) {
	b.mu.Lock()
	for _, clients := range b.producers {
		maps.DeleteFunc(clients, func(_ string, its *conn) bool { return its == c })
	}
	b.mu.Unlock()
	b.removeMembers(func(_, _ string, m *member) bool { return m.conn == c })
}

// forgetSilentMembers looks now and then for members without heartbeats: those
// of clients that serve other groups still.
func (b *Broker) forgetSilentMembers() {
	b.agenda.after(memberCheck, func() {
		b.removeSilent(memberExpiry)
		b.forgetSilentMembers()
	})
}

func (b *Broker) removeSilent(limit time.Duration) {
	b.removeMembers(func(_, _ string, m *member) bool { return time.Since(m.seen) > limit })
}

// removeMembers removes the members in question and tells the others.
func (b *Broker) removeMembers(which func(group, client string, m *member) bool) {
	b.mu.Lock()
	changed := map[string][]*conn{}
	for name, g := range b.groups {
		before := len(g.members)
		maps.DeleteFunc(g.members, func(client string, m *member) bool { return which(name, client, m) })
		if len(g.members) < before {
			changed[name] = g.conns()
		}
	}
	b.mu.Unlock()
	for name, conns := range changed {
		notify(name, conns)
	}
}
