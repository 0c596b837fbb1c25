package listener_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// primary is a pool that can be moved to another server, as a failover does.
type primary struct {
	*sql.DB
	addr atomic.Pointer[string]
}

func newPrimary(t *testing.T, server *testserver.SQLServer) *primary {
	t.Helper()
	p := &primary{}
	addr := server.Addr()
	p.addr.Store(&addr)
	o, err := mysql.ParseDSN(server.DSN("dedup", "innodb_lock_wait_timeout=1", "readTimeout=2s"))
	if err != nil {
		t.Fatal(err)
	}
	o.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *p.addr.Load())
	}
	connector, err := mysql.NewConnector(o)
	if err != nil {
		t.Fatal(err)
	}
	p.DB = sql.OpenDB(connector)
	t.Cleanup(func() { _ = p.Close() }) // nothing is left to lose
	return p
}

func (p *primary) move(to *testserver.SQLServer) {
	addr := to.Addr()
	p.addr.Store(&addr)
	p.SetMaxIdleConns(-1) // closes what goes to the other server
	p.SetMaxIdleConns(4)
}

// records makes the table where the pool leads now.
func (p *primary) records(t *testing.T) *mysqlstore.Store {
	t.Helper()
	s, err := mysqlstore.New(p.DB, mysqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.Migrate(t.Context()))
	return s
}

// watchedIn starts the watch of a store, and returns the losses that it sees and
// a number of pulses that have been answered.
func watchedIn(t *testing.T, records *mysqlstore.Store) (l *lookout, pulses func() int) {
	t.Helper()
	l = &lookout{records: &countedPulses{pulsing: records}, losses: make(chan seenLoss, 100)}
	var err error
	l.DedupConcurrentListener, err = listener.NewDedupConcurrentListener("billing", l.records, listener.Options{
		Key: listener.KeyFromKeys(), Guard: dedup.Options{Observer: l, Logger: slog.New(slog.DiscardHandler)},
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Watch(ctx); err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return l, func() int { return int(l.records.answered.Load()) }
}

// pulsing is a store that can be watched.
type pulsing interface {
	ableStore
	store.Pulser
}

// countedPulses counts the pulses that have been answered.
type countedPulses struct {
	pulsing
	answered atomic.Int64
}

func (c *countedPulses) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	beats, err := c.pulsing.Pulse(ctx, p)
	if err == nil {
		c.answered.Add(1)
	}
	return beats, err
}

func TestARestartOfADatabaseThatKeepsAllIsNoLossAndAFailoverThatDoesNotIsOne(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...string) *testserver.SQLServer{
		"MariaDB": testserver.MariaDB, "MySQL": testserver.MySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, lagging := start(t), start(t)
			p := newPrimary(t, lagging)
			records := p.records(t)
			p.move(old)
			must(t, records.Migrate(t.Context()))
			l, pulses := watchedIn(t, records)
			eventually(t, "pulses", func() bool { return pulses() >= 2 })

			old.Kill()
			old.Start()
			before := pulses()
			eventually(t, "pulses after the restart", func() bool { return pulses() >= before+2 })
			select {
			case loss := <-l.losses:
				t.Errorf("after a restart: got %v, want no loss", loss)
			default:
			}

			p.move(lagging)
			select {
			case loss := <-l.losses:
				if loss.Missing < 2 || !loss.Replaced {
					t.Errorf("got %+v, want missing pulses and another server", loss)
				}
			case <-time.After(30 * time.Second):
				t.Error("the failover was not told")
			}
		})
	}
}
