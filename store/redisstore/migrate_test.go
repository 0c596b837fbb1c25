package redisstore_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// moving are the slots that move in these tests: the first ones.
const moving = 40

func TestNothingIsLostOrGrantedTwiceWhileSlotsMove(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, c.Addrs()[0], nil)
	seen := new(redirections)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(seen) })
	m := newMover(t, c)
	held := hold(t, client)
	loads := held.during(t, client, func() {
		const group = moving / 2
		for first := 0; first < moving; first += group {
			m.move(0, 1, first, first+group, seen)
		}
		m.move(1, 0, 0, moving, seen)
	})
	held.complete(t)
	for _, l := range loads {
		l.deliver(l.once())
		l.wantOneRunEach(t)
	}
	t.Logf("%d messages, %d MOVED, %d ASK", len(loads)*100, seen.moved.Load(), seen.asked.Load())
	if seen.moved.Load() == 0 || seen.asked.Load() == 0 {
		t.Error("want both MOVED and ASK on the way")
	}
	m.tryAgain(c.Addrs()[0])
}

// wantOneRunEach wants each message to have been granted, run and completed once.
func (l *load) wantOneRunEach(t *testing.T) {
	t.Helper()
	for n, k := range l.keys {
		runs, grants, ends := l.runs[n].Load(), l.grants[k], l.ends[k]
		if runs != 1 || len(grants) != 1 || len(ends) != 1 || ends[0].completion != store.Completed {
			t.Errorf("message %d ran %d times, granted %+v, ended %+v", n, runs, grants, ends)
		}
	}
}

// holding are claims that live as long as the slots move.
type holding struct {
	store interface {
		store.Store
		store.Renewer
	}
	claims []store.Claim
}

func hold(t *testing.T, client redis.UniversalClient) holding {
	t.Helper()
	s := open(t, client)
	h := holding{store: s}
	for _, k := range keysBelow(moving, 20) {
		c := store.Claim{Key: k, Token: store.NewToken()}
		claims(t, s, request(c.Key, c.Token), 1)
		h.claims = append(h.claims, c)
	}
	return h
}

// during renews the claims and delivers new messages until do returns. It
// returns what was delivered.
func (h holding) during(t *testing.T, client redis.UniversalClient, do func()) []*load {
	var loads []*load
	var over atomic.Bool
	var users sync.WaitGroup
	ctx := within(t, 2*ample)
	users.Go(func() {
		for !over.Load() {
			for i, err := range h.store.Renew(ctx, h.claims) {
				if err != nil {
					t.Errorf("renewal %d: %v", i, err)
				}
			}
		}
	})
	users.Go(func() {
		for !over.Load() {
			l := newLoad(t, client, keysBelow(moving, 100))
			l.deliver(l.withCopies())
			loads = append(loads, l)
		}
	})
	func() {
		defer users.Wait() // also when do ends the test
		defer over.Store(true)
		do()
	}()
	return loads
}

func (h holding) complete(t *testing.T) {
	t.Helper()
	for _, c := range h.claims {
		if got, err := h.store.Complete(within(t, ample), c.Key, c.Token, time.Hour); err != nil || got != store.Completed {
			t.Errorf("complete: got %v, %v, want completed", got, err)
		}
	}
}

// mover moves slots as "redis-cli --cluster reshard" does.
type mover struct {
	t     *testing.T
	ctx   context.Context
	nodes []*redis.Client
	ids   []string
}

func newMover(t *testing.T, c *testserver.RedisCluster) *mover {
	t.Helper()
	m := &mover{t: t, ctx: within(t, 2*ample)}
	for _, addr := range c.Addrs() {
		node := connect(t, addr, nil)
		id, err := node.Do(m.ctx, "cluster", "myid").Text()
		if err != nil {
			t.Fatal(err)
		}
		m.nodes, m.ids = append(m.nodes, node), append(m.ids, id)
	}
	return m
}

// move waits in the middle until somebody has met a slot on its way.
func (m *mover) move(from, to, first, end int, seen *redirections) {
	m.t.Helper()
	for slot := first; slot < end; slot++ {
		m.begin(from, to, slot)
	}
	for asked := seen.asked.Load(); seen.asked.Load() == asked; time.Sleep(time.Millisecond) {
		if m.ctx.Err() != nil {
			m.t.Fatal("no call has met a slot on its way")
		}
	}
	for slot := first; slot < end; slot++ {
		m.end(from, to, slot)
	}
}

func (m *mover) begin(from, to, slot int) {
	m.t.Helper()
	m.set(to, slot, "importing", m.ids[from])
	m.set(from, slot, "migrating", m.ids[to])
}

// end moves the keys that are left, and then the slot.
func (m *mover) end(from, to, slot int) {
	m.t.Helper()
	for m.moveKeys(from, to, slot) {
	}
	m.set(to, slot, "node", m.ids[to])
	m.set(from, slot, "node", m.ids[to])
}

func (m *mover) set(node, slot int, args ...any) {
	m.t.Helper()
	command := append([]any{"cluster", "setslot", slot}, args...)
	if err := m.nodes[node].Do(m.ctx, command...).Err(); err != nil {
		m.t.Fatalf("%v: %v", command, err)
	}
}

// moveKeys moves a few keys of a slot and reports whether there may be more.
func (m *mover) moveKeys(from, to, slot int) bool {
	m.t.Helper()
	names, err := m.nodes[from].ClusterGetKeysInSlot(m.ctx, slot, 2).Result()
	if err != nil {
		m.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(m.nodes[to].Options().Addr)
	command := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for _, name := range names {
		command = append(command, name)
	}
	if len(names) > 0 {
		if err := m.nodes[from].Do(m.ctx, command...).Err(); err != nil {
			m.t.Fatalf("%v: %v", command, err)
		}
	}
	return len(names) > 0
}

// tryAgain gets the refusal from a real server and answers a claim with it:
// none of our commands has two keys, so that no server would.
func (m *mover) tryAgain(addr string) {
	t := m.t
	t.Helper()
	const name = "{b}" // its slot is one of the first node
	m.set(1, slotOf(name), "importing", m.ids[0])
	pipe := m.nodes[1].Pipeline()
	pipe.Do(m.ctx, "asking")
	pipe.Do(m.ctx, "eval", "return 1", 2, name+"1", name+"2")
	_, refusal := pipe.Exec(m.ctx)
	if class, again := redisstore.Classify(refusal); !redis.HasErrorPrefix(refusal, "TRYAGAIN ") ||
		class != store.NotApplied || !again {
		t.Fatalf("got %v, which is %v, again: %v, want TRYAGAIN, not applied and repeated", refusal, class, again)
	}
	client := connectCluster(t, addr, nil)
	answers := &refusing{err: refusal}
	client.OnNewNode(func(node *redis.Client) { node.AddHook(answers) })
	s := open(t, client)
	answers.left.Store(2)
	claims(t, s, request(newKey(), store.NewToken()), 1)
	answers.left.Store(100)
	_, err := s.Claim(within(t, ample), request(newKey(), store.NewToken()))
	wantFailure(t, err, store.NotApplied, "TRYAGAIN")
}
