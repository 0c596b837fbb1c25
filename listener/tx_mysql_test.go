package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// noLog is a guard without a log.
var noLog = dedup.Options{Logger: slog.New(slog.DiscardHandler)}

// shop is business data in the database of the records.
type shop struct {
	t             *testing.T
	db            *sql.DB
	orders, stock string // tables
}

func openShop(t *testing.T) (*shop, *mysqlstore.Store) {
	t.Helper()
	address := storetest.Server(t, "DEDUP_TEST_MARIADB")
	db := sql.OpenDB(mysqlstore.Connector(connectorTo(t, address, "")))
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	name := "shop_" + store.NewToken().String()
	s := &shop{t: t, db: db, orders: name + "_o", stock: name + "_s"}
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: name + "_r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := records.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.create()
	t.Cleanup(func() {
		s.execute("DROP TABLE " + s.orders + ", " + s.stock + ", " + name + "_r")
		_ = db.Close() // nothing is left to lose
	})
	return s, records
}

func (s *shop) execute(statement string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(context.Background(), statement); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func (s *shop) number(query string) (n int) {
	s.t.Helper()
	if err := s.db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// create makes the tables. No index keeps a second order of a key out.
func (s *shop) create() {
	s.t.Helper()
	s.execute("CREATE TABLE " + s.orders + " (id VARBINARY(64) NOT NULL, KEY (id)) ENGINE=InnoDB")
	s.execute("CREATE TABLE " + s.stock + " (item INT PRIMARY KEY, left_over INT NOT NULL) ENGINE=InnoDB")
	var rows []string
	for item := range stockItems {
		rows = append(rows, fmt.Sprintf("(%d, %d)", item, stockEach))
	}
	s.execute("INSERT INTO " + s.stock + " VALUES " + strings.Join(rows, ", "))
}

// The stock of a new shop.
const (
	stockItems = 64
	stockEach  = 1_000_000
)

// order is the handler: an order, and one item less in stock.
func (s *shop) order(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	return s.book(ctx, tx, m.GetKeys(), func() error { return nil })
}

// book works between its two writes: many orders take from the same rows of the
// stock.
func (s *shop) book(ctx context.Context, tx *sql.Tx, id string, work func() error) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+s.orders+" VALUES (?)", id); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE "+s.stock+" SET left_over = left_over - 1 WHERE item = ?",
		crc32.ChecksumIEEE([]byte(id))%stockItems)
	return err
}

// sold is how many items have left the stock.
func (s *shop) sold() int {
	s.t.Helper()
	return stockItems*stockEach - s.number("SELECT SUM(left_over) FROM "+s.stock)
}

func orderMessage(id string) *primitive.MessageExt {
	m := &primitive.MessageExt{MsgId: id, StoreHost: "127.0.0.1:10911"}
	m.Topic = "orders"
	m.WithKeys([]string{id})
	return m
}

func TestAnOrderIsBookedOnceWhateverFailsInItsTransaction(t *testing.T) {
	t.Parallel()
	s, records := openShop(t)
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("out of luck")
	cb := l.Tx(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
		if err := s.order(ctx, tx, m); err != nil {
			return err
		}
		switch rand.IntN(5) {
		case 0:
			return failure
		case 1:
			panic(failure)
		}
		return nil
	})
	const keys, workers = 60, 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range keys {
				id := fmt.Sprintf("order-%0*d", 1+i%4, (i+w*7)%keys)
				deliverUntilDone(t, cb, orderMessage(id))
			}
		})
	}
	all.Wait()
	distinct := map[string]bool{}
	for w := range workers {
		for i := range keys {
			distinct[fmt.Sprintf("order-%0*d", 1+i%4, (i+w*7)%keys)] = true
		}
	}
	if got := s.number("SELECT COUNT(*) FROM " + s.orders); got != len(distinct) {
		t.Errorf("got %d orders, want %d", got, len(distinct))
	}
	if got := s.number("SELECT COUNT(DISTINCT id) FROM " + s.orders); got != len(distinct) {
		t.Errorf("got %d different orders, want %d", got, len(distinct))
	}
	if got := s.sold(); got != len(distinct) {
		t.Errorf("got %d items sold, want %d", got, len(distinct))
	}
}

// deliverUntilDone plays a broker that delivers again what is not acknowledged.
func deliverUntilDone(t *testing.T, cb listener.Callback, m *primitive.MessageExt) {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		if result, err := cb(t.Context(), m); err == nil && result == consumer.ConsumeSuccess {
			return
		}
	}
	t.Errorf("%s is not acknowledged after a minute", m.MsgId)
}

func TestABatchRunsInTransactionsOfItsOwn(t *testing.T) {
	t.Parallel()
	s, records := openShop(t)
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), BatchSize: 8, Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	refused := true
	cb := l.Tx(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
		err := s.order(ctx, tx, m)
		if m.GetKeys() == "c" && refused {
			return errors.Join(err, errors.New("not yet"))
		}
		return err
	})
	batch := []*primitive.MessageExt{orderMessage("a"), orderMessage("b"), orderMessage("c"), orderMessage("a")}
	if result, _ := cb(t.Context(), batch...); result != consumer.ConsumeRetryLater {
		t.Errorf("got %v, want the batch back: one of it has failed", result)
	}
	if got := s.number("SELECT COUNT(*) FROM " + s.orders); got != 2 {
		t.Errorf("got %d orders, want 2", got)
	}
	refused = false
	if result, _ := cb(t.Context(), batch...); result != consumer.ConsumeSuccess {
		t.Errorf("got %v, want success", result)
	}
	if got := s.number("SELECT COUNT(*) FROM " + s.orders); got != 3 {
		t.Errorf("got %d orders, want 3", got)
	}
}

func TestTxWithoutTransactionsAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	ran := func(context.Context, *sql.Tx, *primitive.MessageExt) error {
		t.Error("ran without a transaction")
		return nil
	}
	for _, cb := range []listener.Callback{l.Tx(ran), l.Tx(nil)} {
		if result, err := cb(t.Context(), orderMessage("a")); err != nil || result != consumer.ConsumeRetryLater {
			t.Errorf("got %v, %v, want the message back", result, err)
		}
	}
	if err := l.SubscribeTx(nil, "orders", consumer.MessageSelector{}, ran); !errors.Is(err, dedup.ErrNoTransactions) {
		t.Errorf("subscribe: got %v, want %v", err, dedup.ErrNoTransactions)
	}
}
