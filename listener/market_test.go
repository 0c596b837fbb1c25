package listener_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// market is business data in the database of the records. Its orders are there,
// with a state, before their messages come.
type market struct {
	t       testing.TB
	db      *sql.DB
	records *mysqlstore.Store
	name    string
	orders  string // table: a row for each order
	stock   string // table: rows that many orders share
	entries string // table: has a unique index and nothing in it
}

// onDatabases runs a test on every server that mysqlstore is for.
func onDatabases(t *testing.T, test func(t *testing.T, address string)) {
	for _, server := range []struct{ name, env string }{
		{"MariaDB", "DEDUP_TEST_MARIADB"}, {"MySQL", "DEDUP_TEST_MYSQL"},
	} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			test(t, storetest.Server(t, server.env))
		})
	}
}

// openMarket opens one with this isolation level, or with the server's.
func openMarket(t testing.TB, address, isolation string) *market {
	t.Helper()
	params := marketParams
	if isolation != "" {
		params += "&tx_isolation=%27" + isolation + "%27"
	}
	return newMarket(t, sql.OpenDB(mysqlstore.Connector(connectorTo(t, address, params))))
}

const marketParams = "&interpolateParams=true"

func connectorTo(t testing.TB, address, params string) driver.Connector {
	t.Helper()
	o, err := mysql.ParseDSN("root@tcp(" + address + ")/dedup?innodb_lock_wait_timeout=1" + params)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(o)
	if err != nil {
		t.Fatal(err)
	}
	return connector
}

func newMarket(t testing.TB, db *sql.DB) *market {
	t.Helper()
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	name := "market_" + store.NewToken().String()
	m := &market{t: t, db: db, name: name, orders: name + "_o", stock: name + "_s", entries: name + "_e"}
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: name + "_r"})
	if err != nil {
		t.Fatal(err)
	}
	m.records = records
	t.Cleanup(func() {
		m.drop()
		_ = db.Close() // nothing is left to lose
	})
	if err := records.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.execute("CREATE TABLE " + m.orders + " (no VARBINARY(64) PRIMARY KEY, status VARBINARY(8) NOT NULL DEFAULT 'new'," +
		" version INT NOT NULL DEFAULT 0, booked INT NOT NULL DEFAULT 0) ENGINE=InnoDB")
	m.execute("CREATE TABLE " + m.stock + " (item INT PRIMARY KEY, left_over INT NOT NULL) ENGINE=InnoDB")
	m.execute("CREATE TABLE " + m.entries + " (no VARBINARY(64) PRIMARY KEY) ENGINE=InnoDB")
	var rows []string
	for item := range stockItems {
		rows = append(rows, fmt.Sprintf("(%d, %d)", item, stockEach))
	}
	m.execute("INSERT INTO " + m.stock + " VALUES " + strings.Join(rows, ", "))
	return m
}

// drop waits longer than others for a lock: servers keep statistics of tables in
// tables, which other tests lock, too.
func (m *market) drop() {
	conn, err := m.db.Conn(context.Background())
	if err != nil {
		m.t.Error(err)
		return
	}
	defer conn.Close() // the pool is closed next
	for _, statement := range []string{
		"SET SESSION innodb_lock_wait_timeout = 50",
		"DROP TABLE IF EXISTS " + m.orders + ", " + m.stock + ", " + m.entries + ", " + m.name + "_r",
	} {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			m.t.Errorf("%s: %v", statement, err)
		}
	}
}

func (m *market) execute(statement string) {
	m.t.Helper()
	if _, err := m.db.ExecContext(context.Background(), statement); err != nil {
		m.t.Fatalf("%s: %v", statement, err)
	}
}

func (m *market) number(query string) (n int) {
	m.t.Helper()
	if err := m.db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// expect makes orders that wait for their messages.
func (m *market) expect(numbers ...string) {
	m.t.Helper()
	m.execute("INSERT INTO " + m.orders + " (no) VALUES ('" + strings.Join(numbers, "'), ('") + "')")
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("order-%04d", i))
	}
	return all
}

// book is the business change: the order, and one item less in stock.
func (m *market) book(ctx context.Context, tx *sql.Tx, no string) error {
	_, err := tx.ExecContext(ctx, "UPDATE "+m.orders+" SET status = 'booked', booked = booked + 1 WHERE no = ?", no)
	if err != nil {
		return err
	}
	return m.take(ctx, tx, no)
}

func (m *market) take(ctx context.Context, tx *sql.Tx, no string) error {
	_, err := tx.ExecContext(ctx, "UPDATE "+m.stock+" SET left_over = left_over - 1 WHERE item = ?",
		crc32.ChecksumIEEE([]byte(no))%stockItems)
	return err
}

// wantBooked wants so many orders, each booked so often, and the stock to agree.
func (m *market) wantBooked(orders, times int) {
	m.t.Helper()
	right := m.number(fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE booked = %d", m.orders, times))
	wrong := m.number(fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE booked <> %d", m.orders, times))
	sold := stockItems*stockEach - m.number("SELECT SUM(left_over) FROM "+m.stock)
	if right != orders || wrong != 0 || sold != orders*times {
		m.t.Errorf("got %d orders booked %d times, %d otherwise and %d items sold, want %d, none and %d",
			right, times, wrong, sold, orders, orders*times)
	}
}

// delivery delivers an order once. An error means that the broker brings it again.
type delivery func(ctx context.Context, no string) error

// errBack is a message that is not acknowledged.
var errBack = errors.New("not acknowledged")

// through delivers to a callback of the library.
func through(cb listener.Callback) delivery {
	return func(ctx context.Context, no string) error {
		if result, err := cb(ctx, orderMessage(no)); err != nil || result != success {
			return errors.Join(errBack, err)
		}
		return nil
	}
}

// copies delivers every order so often, copies at about the same time.
func (m *market) copies(d delivery, orders []string, copies int) {
	var all sync.WaitGroup
	for range copies {
		all.Go(func() {
			for _, no := range orders {
				m.untilDone(d, no)
			}
		})
	}
	all.Wait()
}

// untilDone plays a broker that delivers again what is not acknowledged.
func (m *market) untilDone(d delivery, no string) {
	err := errBack
	for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); {
		err = d(context.Background(), no)
	}
	if err != nil {
		m.t.Errorf("%s is not acknowledged after a minute: %v", no, err)
	}
}
