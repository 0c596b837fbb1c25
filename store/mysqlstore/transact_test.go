package mysqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// shop is a store with a business table in the same database.
type shop struct {
	t     *testing.T
	db    *sql.DB // past any proxy
	sales string  // the business table
	stock string  // another, for deadlocks; each has its own without

	through *sql.DB // of s
	s       *mysqlstore.Store
}

func newShop(t *testing.T, address string, through driver.Connector) *shop {
	t.Helper()
	db := pool(t, address, "")
	b := &shop{t: t, db: db, sales: table(t, db), through: poolOver(t, through)}
	b.s = migrated(t, b.through, mysqlstore.Options{})
	executes(t, db, "CREATE TABLE %s (id INT AUTO_INCREMENT PRIMARY KEY, what VARBINARY(64) NOT NULL) ENGINE=InnoDB", b.sales)
	return b
}

// onConnectors runs a test on every server, over connections that tell of errors
// and over those that do not.
func onConnectors(t *testing.T, test func(t *testing.T, address string, tell bool)) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, tell := range map[string]bool{"errors are told": true, "errors are not told": false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, address, tell)
			})
		}
	})
}

// telling is c, with connections that tell of errors if they are to.
func telling(tell bool, c driver.Connector) driver.Connector {
	if tell {
		return mysqlstore.Connector(c)
	}
	return c
}

// sell is a callback that sells k.
func (b *shop) sell(k store.Key) func(context.Context, *sql.Tx, int) error {
	return func(ctx context.Context, tx *sql.Tx, _ int) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+b.sales+" (what) VALUES (?)", k.ID)
		return err
	}
}

// sold wants k to have been sold so often.
func (b *shop) sold(k store.Key, want int64) {
	b.t.Helper()
	if got := number(b.t, b.db, "SELECT COUNT(*) FROM %s WHERE what = '%s'", b.sales, k.ID); got != want {
		b.t.Errorf("sold %d times, want %d", got, want)
	}
}

func (b *shop) transact(k store.Key, do func(context.Context, *sql.Tx, int) error) (store.Verdict, error) {
	b.t.Helper()
	return b.s.Transact(within(b.t, ample), store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}, do)
}

// answersTx wants a transaction to be answered with a state and no error.
func (b *shop) answersTx(k store.Key, want store.State) store.Verdict {
	b.t.Helper()
	v, err := b.transact(k, b.sell(k))
	if err != nil || v.State != want {
		b.t.Fatalf("transact: got %+v, %v, want %v", v, err, want)
	}
	return v
}

func TestARecordAndTheBusinessAreCommittedTogetherOrNotAtAll(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		failure := errors.New("no stock")
		v, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if attempt != 1 {
				t.Errorf("got attempt %d, want 1", attempt)
			}
			return errors.Join(b.sell(k)(ctx, tx, attempt), failure)
		})
		if !errors.Is(err, failure) || v.State != store.Claimed {
			t.Fatalf("got %+v, %v, want the callback's error", v, err)
		}
		b.sold(k, 0)
		if v := b.answersTx(k, store.Claimed); v.Attempt != 1 {
			t.Errorf("got attempt %d, want 1: nothing has remained of the first", v.Attempt)
		}
		b.answersTx(k, store.Done)
		b.sold(k, 1)
		answers(t, b.s, k, store.Done) // to a consumer without transactions, too
	})
}

func TestATransactionKeepsClearOfClaimsAndTakesLapsedOnesOver(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b := newShop(t, address, telling(tell, connectorTo(t, address, "")))
		held, lapsed, parked, released := newKey(), newKey(), newKey(), newKey()
		token := store.NewToken()
		for _, k := range []store.Key{held, lapsed, parked, released} {
			claims(t, b.s, request(k, token), 1)
		}
		releases(t, b.s, released, token)
		if err := b.s.Park(within(t, ample), parked, token, time.Hour); err != nil {
			t.Fatal(err)
		}
		executes(t, b.db, "UPDATE %s SET expire_time = expire_time - 100000 WHERE %s", b.s.Table(), b.s.Where(lapsed))
		if v := b.answersTx(held, store.Busy); v.Left < 30*time.Second || v.Left > time.Minute {
			t.Errorf("got %v left, want about a minute", v.Left)
		}
		b.answersTx(parked, store.Parked)
		for _, k := range []store.Key{lapsed, released} {
			if v := b.answersTx(k, store.Claimed); v.Attempt != 2 {
				t.Errorf("got attempt %d, want 2", v.Attempt)
			}
			b.sold(k, 1)
		}
		b.sold(held, 0)
		b.sold(parked, 0)
	})
}

func TestACopyOfARunningTransactionIsBusy(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		v, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			began := time.Now()
			b.answersTx(k, store.Busy)
			answers(t, b.s, k, store.Busy)
			if took := time.Since(began); took > 4*lockWait {
				t.Errorf("copies waited %v, want about a second each", took)
			}
			return b.sell(k)(ctx, tx, attempt)
		})
		if err != nil || v.State != store.Claimed {
			t.Fatalf("got %+v, %v, want it committed", v, err)
		}
		b.sold(k, 1)
	})
}

func TestACommitWhoseAnswerIsLostIsReadBack(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		proxy := testserver.NewProxy(t, address)
		var armed atomic.Bool
		b, k := newShop(t, address, telling(tell, watched(t, proxy.Addr(), "COMMIT", func() {
			if armed.CompareAndSwap(true, false) {
				proxy.CutReplies(1)
			}
		}))), newKey()
		armed.Store(true)
		v, err := b.transact(k, b.sell(k))
		if armed.Load() {
			t.Fatal("no COMMIT was sent")
		}
		if err != nil || v.State != store.Claimed {
			t.Fatalf("got %+v, %v, want it committed", v, err)
		}
		b.sold(k, 1)
		b.answersTx(k, store.Done)
	})
}

// watched is a connector whose connections call sees before it sends a statement with this text.
func watched(t testing.TB, address, text string, sees func()) driver.Connector {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", address, "dedup"
	config.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return watchedConn{conn, text, sees}, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	return connector
}

type watchedConn struct {
	net.Conn
	text string
	sees func()
}

func (c watchedConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.text)) {
		c.sees()
	}
	return c.Conn.Write(b)
}

func TestATransactionThatIsCutOffBeforeItsCommitHasNotHappened(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		proxy := testserver.NewProxy(t, address)
		b, k := newShop(t, address, telling(tell, connectorTo(t, proxy.Addr(), ""))), newKey()
		b.answersTx(newKey(), store.Claimed) // prepares
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := b.sell(k)(ctx, tx, attempt)
			proxy.Cut()
			return err
		})
		fails(t, "transact", err, store.NotApplied)
		b.sold(k, 0)
		b.answersTx(k, store.Claimed)
		b.sold(k, 1)
	})
}

func TestAPanicOrTheEndOfTheContextRollsATransactionBack(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		func() {
			defer func() {
				if recover() != "out" {
					t.Error("the panic did not come through")
				}
			}()
			_, _ = b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
				if err := b.sell(k)(ctx, tx, attempt); err != nil {
					t.Error(err)
				}
				panic("out")
			})
		}()
		b.sold(k, 0)
		ctx, cancel := context.WithCancel(within(t, ample))
		_, err := b.s.Transact(ctx, store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour},
			func(ctx context.Context, tx *sql.Tx, attempt int) error {
				defer cancel()
				return b.sell(k)(ctx, tx, attempt)
			})
		fails(t, "transact", err, store.NotApplied)
		b.sold(k, 0)
		b.answersTx(k, store.Claimed)
		b.sold(k, 1)
	})
}

func TestOfManyTransactionsOfAKeyOneIsCommitted(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b := newShop(t, address, telling(tell, connectorTo(t, address, "")))
		keys := newKeys(10)
		done := make(chan error)
		for i := range 8 * len(keys) {
			go func() {
				k := keys[i%len(keys)]
				for {
					v, err := b.s.Transact(within(t, ample), store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour},
						b.sell(k))
					if err == nil && v.State == store.Busy {
						continue
					}
					done <- err
					return
				}
			}()
		}
		for range 8 * len(keys) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		for _, k := range keys {
			b.sold(k, 1)
		}
	})
}

func TestATransactionIsOneOfItsShard(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		a, b := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newShop(t, address, telling(tell, connectorTo(t, address, "")))
		s, err := mysqlstore.NewSharded(func(k store.Key) int { return len(k.Tag) }, a.s, b.s)
		if err != nil {
			t.Fatal(err)
		}
		here, there := newKey(), newKey()
		here.Tag, there.Tag = "", "1"
		failure := &store.Error{Driver: "user's", Op: "sell", Class: store.NotApplied, Err: errors.New("no stock")}
		for k, shop := range map[store.Key]*shop{here: a, there: b} {
			r := store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}
			_, err := s.Transact(within(t, ample), r, func(context.Context, *sql.Tx, int) error { return failure })
			if err != error(failure) {
				t.Errorf("got %v, want the callback's own error", err)
			}
			v, err := s.Transact(within(t, ample), r, shop.sell(k))
			if err != nil || v.State != store.Claimed {
				t.Errorf("got %+v, %v, want it committed", v, err)
			}
			shop.sold(k, 1)
			answers(t, shop.s, k, store.Done)
		}
	})
}

func TestAPoolOfOneConnectionIsEnoughForOneTransactionAtATime(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		b.through.SetMaxOpenConns(1)
		token := store.NewToken()
		claims(t, b.s, request(k, token), 1)
		if err := b.s.Release(within(t, ample), k, token, false); err != nil {
			t.Fatal(err)
		}
		b.answersTx(newKey(), store.Claimed)
		b.answersTx(k, store.Claimed)
		b.sold(k, 1)
	})
}
