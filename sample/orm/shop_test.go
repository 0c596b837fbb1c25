package orm_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/orm"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// world is a shop and a listener over one pool.
type world struct {
	t    *testing.T
	pool *sql.DB
	shop *orm.Shop
	*listener.DedupConcurrentListener
}

const items = 10 // in stock

func open(t *testing.T) *world {
	t.Helper()
	address := storetest.Server(t, "DEDUP_TEST_MARIADB")
	o, err := mysql.ParseDSN("root@tcp(" + address + ")/dedup?innodb_lock_wait_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(o)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(mysqlstore.Connector(connector))
	pool.SetMaxOpenConns(2) // one for a transaction, and that which deliver takes
	name := "orm_" + store.NewToken().String()
	t.Cleanup(func() {
		for _, table := range []string{"_r", "_o", "_s"} {
			if _, err := pool.Exec("DROP TABLE IF EXISTS " + name + table); err != nil {
				t.Error(err)
			}
		}
		_ = pool.Close() // nothing is left to lose
	})
	records, err := mysqlstore.New(pool, mysqlstore.Options{Table: name + "_r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := records.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	shop, err := orm.NewShop(pool, name+"_o", name+"_s")
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Create(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	l, err := listener.NewDedupConcurrentListener("shop", records, listener.Options{
		Key: listener.KeyFromKeys(), Guard: dedup.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, pool, shop, l}
}

// deliver delivers a message of the order and reports whether it is acknowledged.
// While h runs the pool is empty: what goes past its transaction waits in vain.
func (w *world) deliver(h listener.TxHandler, order string) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	alone := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
		last, err := w.pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer last.Close()
		return h(ctx, tx, m)
	}
	m := &primitive.MessageExt{MsgId: order, StoreHost: "127.0.0.1:10911"}
	m.Topic = "orders"
	m.WithKeys([]string{order})
	result, err := w.Tx(alone)(ctx, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return result == consumer.ConsumeSuccess
}

// want compares what is in the tables.
func (w *world) want(orders, left int) {
	w.t.Helper()
	if got := w.number("SELECT COUNT(*) FROM " + w.shop.Orders); got != orders {
		w.t.Errorf("got %d orders, want %d", got, orders)
	}
	if got := w.number("SELECT items FROM " + w.shop.Stock); got != left {
		w.t.Errorf("got %d items left, want %d", got, left)
	}
}

func (w *world) number(query string) (n int) {
	w.t.Helper()
	if err := w.pool.QueryRowContext(w.t.Context(), query).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// eachHandler runs a test with every way to book an order.
func eachHandler(t *testing.T, test func(t *testing.T, w *world, book listener.TxHandler)) {
	for name, handler := range map[string]func(*orm.Shop) listener.TxHandler{
		"database/sql": func(s *orm.Shop) listener.TxHandler { return s.BookBySQL },
		"sqlx":         func(s *orm.Shop) listener.TxHandler { return s.BookBySQLX },
		"GORM":         func(s *orm.Shop) listener.TxHandler { return s.BookByGORM },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			test(t, w, handler(w.shop))
		})
	}
}

func TestAnOrderIsBookedOnce(t *testing.T) {
	t.Parallel()
	eachHandler(t, func(t *testing.T, w *world, book listener.TxHandler) {
		calls := 0
		counted := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
			calls++
			return book(ctx, tx, m)
		}
		for range 3 {
			if !w.deliver(counted, "A1001") {
				t.Error("it was not acknowledged")
			}
		}
		if calls != 1 {
			t.Errorf("the handler ran %d times, want once: its copies are known by the record", calls)
		}
		w.want(1, items-1)
	})
}

func TestAFailureUndoesTheWritesOfTheLibrary(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]func() error{
		"an error": func() error { return errors.New("warehouse is closed") },
		"a panic":  func() error { panic("warehouse is closed") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHandler(t, func(t *testing.T, w *world, book listener.TxHandler) {
				failing := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
					if err := book(ctx, tx, m); err != nil {
						t.Error(err)
					}
					return failure()
				}
				if w.deliver(failing, "A1001") {
					t.Error("a failure was acknowledged")
				}
				w.want(0, items)
				if !w.deliver(book, "A1001") {
					t.Error("its next delivery was not acknowledged")
				}
				w.want(1, items-1)
			})
		})
	}
}

func TestAnOrderThatIsThereAlreadyIsAcknowledged(t *testing.T) {
	t.Parallel()
	eachHandler(t, func(t *testing.T, w *world, book listener.TxHandler) {
		if _, err := w.pool.Exec("INSERT INTO "+w.shop.Orders+" VALUES ('A1001', ?)", orm.Item); err != nil {
			t.Fatal(err)
		}
		var said error
		saying := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
			said = book(ctx, tx, m)
			return said
		}
		if !w.deliver(saying, "A1001") {
			t.Errorf("it was not acknowledged: %v", said)
		}
		w.want(1, items)
		said = nil
		if !w.deliver(saying, "A1001") || said != nil {
			t.Errorf("a copy was not known by the record: %v", said)
		}
	})
}

func TestAnErrorOfTheDatabaseBringsTheMessageBack(t *testing.T) {
	t.Parallel()
	eachHandler(t, func(t *testing.T, w *world, book listener.TxHandler) {
		stock := w.shop.Stock
		w.shop.Stock += "_missing"
		if w.deliver(book, "A1001") {
			t.Error("it was acknowledged")
		}
		w.shop.Stock = stock
		w.want(0, items)
	})
}
