package listener_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	clientproducer "github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// chain is a scene of two steps: orders are booked, then shipped. Both are rows
// of one table, which no index keeps copies out of.
type chain struct {
	*scene
	*shop
	t       *testing.T
	records txStore // of the members that join from now on
	next    string  // the topic of the second step
	deaf    bool    // the members that join from now on do not tell the broker that asks, either

	mu      sync.Mutex
	halves  int                 // guarded by mu: stored by the broker
	arrived map[string][]string // guarded by mu: ids of the transactions that brought an order to the second step
	answers map[string][]state  // guarded by mu: what the broker was told of a transaction that it asked about
}

type state = primitive.LocalTransactionState

// txStore is a store that a chain can be built on.
type txStore interface {
	store.Store
	store.Getter
	store.Transactor
}

func newChain(t *testing.T, on stage) *chain {
	t.Helper()
	c := &chain{t: t, arrived: map[string][]string{}, answers: map[string][]state{}}
	if on == inProcess {
		c.shop, c.records = openFileShop(t)
	} else {
		c.shop, c.records = openShop(t)
	}
	c.scene = newScene(t, on, 4)
	c.next = c.Topic + "-next"
	c.createTopic(c.next, 2)
	c.createGroup(c.Group + "-next")
	return c
}

// openFileShop is a shop without a server.
func openFileShop(t *testing.T) (*shop, *sqlitestore.Store) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the file goes, too
	records, err := sqlitestore.New(t.Context(), db, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, db: db, orders: "orders"}
	s.execute("CREATE TABLE orders (id BLOB NOT NULL)")
	return s, records
}

// rows is how many rows there are of a step.
func (c *chain) rows(id string) int {
	c.t.Helper()
	return c.number("SELECT COUNT(*) FROM " + c.orders + " WHERE id = '" + id + "'")
}

func (c *chain) insert(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO "+c.orders+" VALUES (?)", id)
	return err
}

// book is the first step.
func (c *chain) book(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
	err := c.insert(ctx, tx, "book "+m.GetKeys())
	return []*primitive.Message{order(c.next, m.GetKeys())}, err
}

// books adds a member that runs h as the first step. If it is mute it tells the
// broker nothing before that asks.
func (c *chain) books(h listener.StepHandler, mute bool) {
	c.t.Helper()
	c.scene.records = c.records
	c.joinWith(listener.Options{}, func(m *member) error {
		out, err := m.Outgoing()
		if err != nil {
			return err
		}
		p, err := c.newOut(clerk{out, c, mute, c.deaf}, m.name)
		if err != nil {
			return err
		}
		err = out.Start(c.t.Context(), p, c.next)
		if err != nil {
			return err
		}
		if !raceDetector { // its Shutdown races with its own answer to a broker that asks
			c.t.Cleanup(func() { _ = p.Shutdown() }) // all is sent
		}
		return m.SubscribeTx(m.client, c.Topic, consumer.MessageSelector{}, out.Step(p, h))
	})
}

// clerk notes what the listener of a producer says.
type clerk struct {
	primitive.TransactionListener
	c    *chain
	mute bool
	deaf bool
}

func (k clerk) ExecuteLocalTransaction(m *primitive.Message) state {
	if m.GetKeys() != "" { // else it was sent to be known
		k.c.mu.Lock()
		k.c.halves++
		k.c.mu.Unlock()
	}
	answer := k.TransactionListener.ExecuteLocalTransaction(m)
	if k.mute {
		return primitive.UnkonwnState
	}
	return answer
}

func (k clerk) CheckLocalTransaction(m *primitive.MessageExt) state {
	answer := k.TransactionListener.CheckLocalTransaction(m)
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	k.c.answers[m.TransactionId] = append(k.c.answers[m.TransactionId], answer)
	if k.deaf {
		return primitive.UnkonwnState
	}
	return answer
}

// answered reports whether the broker, when it asked about the transaction, was
// told that.
func (c *chain) answered(id string, answer state) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.answers[id], answer)
}

// stored is how many halves the broker has stored.
func (c *chain) stored() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halves
}

func (p place) newOut(l primitive.TransactionListener, name string) (rocketmq.TransactionProducer, error) {
	return rocketmq.NewTransactionProducer(l,
		clientproducer.WithNsResolver(primitive.NewPassthroughResolver([]string{p.NameServer})),
		clientproducer.WithGroupName(p.Group+"-out"), clientproducer.WithInstanceName(p.instance(name+"-out")),
		clientproducer.WithRetry(1),
	)
}

// ships adds a consumer for the second step.
func (c *chain) ships() {
	c.t.Helper()
	p := c.place
	p.Group += "-next"
	m, err := newMember(p, "ships", c.records, listener.Options{}, func(m *member) error {
		return m.SubscribeTx(noting{m.client, c.note}, c.next, consumer.MessageSelector{},
			func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
				return c.insert(ctx, tx, "ship "+m.GetKeys())
			})
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.leave(m) })
}

// note notes which transaction brought a message.
func (c *chain) note(m *primitive.MessageExt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := m.TransactionId; !slices.Contains(c.arrived[m.GetKeys()], id) {
		c.arrived[m.GetKeys()] = append(c.arrived[m.GetKeys()], id)
	}
}

// transactions are those that brought an order to the second step.
func (c *chain) transactions(id string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.arrived[id])
}

// shipped waits until all orders are shipped and wants each booked and shipped
// once, brought by one transaction.
func (c *chain) shipped(ids ...string) {
	c.t.Helper()
	eventually(c.t, "all is shipped", func() bool {
		return c.number("SELECT COUNT(DISTINCT id) FROM "+c.orders+" WHERE id LIKE 'ship %'") == len(ids)
	})
	for _, id := range ids {
		booked, shipped, by := c.rows("book "+id), c.rows("ship "+id), c.transactions(id)
		if booked != 1 || shipped != 1 || len(by) != 1 {
			c.t.Errorf("%s: got %d bookings and %d shipments by the transactions %v, want one of each",
				id, booked, shipped, by)
		}
	}
}

// noting is a consumer whose deliveries are noted.
type noting struct {
	listener.Subscriber
	note func(*primitive.MessageExt)
}

func (n noting) Subscribe(topic string, selector consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	return n.Subscriber.Subscribe(topic, selector,
		func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, m := range msgs {
				n.note(m)
			}
			return f(ctx, msgs...)
		})
}

// brittle is a store whose transactions may be stopped before their commit and
// after it.
type brittle struct {
	txStore
	before, after func() error
}

func (b brittle) Transact(ctx context.Context, r store.TxRequest,
	do func(context.Context, *sql.Tx, int) error) (store.Verdict, error) {
	v, err := b.txStore.Transact(ctx, r, func(ctx context.Context, tx *sql.Tx, attempt int) error {
		if err := do(ctx, tx, attempt); err != nil {
			return err
		}
		return b.before()
	})
	if err == nil && v.State == store.Claimed {
		err = b.after()
	}
	return v, err
}

func finished(e dedup.Event) bool { return e.Outcome.Finished() }
