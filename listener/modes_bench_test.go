package listener_test

import (
	"context"
	"database/sql"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// wire counts round trips: writes, of which these clients send one for each.
type wire struct{ trips atomic.Int64 }

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return wired{conn, w}, err
}

type wired struct {
	net.Conn
	wire *wire
}

func (c wired) Write(b []byte) (int, error) {
	c.wire.trips.Add(1)
	return c.Conn.Write(b)
}

// BenchmarkMode has, for the first delivery of an order in each mode, the units
// tx/s, x-plain, which is that beside the same business transaction without
// anything, and trips, round trips to all servers. Both take turns, 16 at a time,
// so that a busy moment of the machine hits them alike.
func BenchmarkMode(b *testing.B) {
	w := &wire{}
	m := benchMarket(b, w)
	plain := m.byHand(m.book)
	for _, c := range []struct {
		name string
		mode delivery
	}{
		{"business transaction alone", plain},
		{"record in the transaction", m.together()},
		{"record beside it, same database", m.beside()},
		{"record beside it, Redis", m.besideInRedis(w)},
		{"unique index", m.byHand(m.bookIndexed)},
		{"SELECT FOR UPDATE", m.rowLock()},
		{"conditional UPDATE", m.condition()},
		{"version column", m.versions()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ratios, rates []float64
			var trips int64
			for b.Loop() {
				usual := m.turn(plain)
				before := w.trips.Load()
				took := m.turn(c.mode)
				trips += w.trips.Load() - before
				ratios = append(ratios, usual.Seconds()/took.Seconds())
				rates = append(rates, turnOrders/took.Seconds())
			}
			slices.Sort(ratios)
			slices.Sort(rates)
			b.ReportMetric(rates[len(rates)/2], "tx/s")
			b.ReportMetric(ratios[len(ratios)/2], "x-plain")
			b.ReportMetric(float64(trips)/float64(len(rates)*turnOrders), "trips")
		})
	}
}

func benchMarket(b *testing.B, w *wire) *market {
	b.Helper()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", storetest.Server(b, "DEDUP_TEST_MARIADB"), "dedup"
	config.InterpolateParams = true
	config.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	config.DialFunc = w.dial
	connector, err := mysql.NewConnector(config)
	if err != nil {
		b.Fatal(err)
	}
	return newMarket(b, sql.OpenDB(mysqlstore.Connector(connector)))
}

func (m *market) besideInRedis(w *wire) delivery {
	m.t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: storetest.Server(m.t, "DEDUP_TEST_REDIS"), ContextTimeoutEnabled: true, ReadTimeout: time.Second,
		Dialer: w.dial, Protocol: 2,
	})
	m.t.Cleanup(func() { _ = client.Close() }) // nothing is left to lose
	records, err := redisstore.New(client, redisstore.Options{Prefix: m.name + ":"})
	if err != nil {
		m.t.Fatal(err)
	}
	effect := m.byHand(m.book)
	return through(m.listener(records).Each(func(ctx context.Context, msg *primitive.MessageExt) error {
		return effect(ctx, msg.GetKeys())
	}))
}

// turnOrders is how many orders a turn delivers.
const turnOrders = 200

// turn delivers new orders and returns how long that takes.
func (m *market) turn(d delivery) time.Duration {
	var all []string
	for range turnOrders {
		all = append(all, store.NewToken().String())
	}
	m.expect(all...)
	next := make(chan string, turnOrders)
	for _, no := range all {
		next <- no
	}
	close(next)
	began := time.Now()
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for no := range next {
				m.untilDone(d, no)
			}
		})
	}
	workers.Wait()
	return time.Since(began)
}
