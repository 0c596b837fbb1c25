package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// bareConnector has connections whose statements, or else the rows of whose
// queries, can do less than the driver's.
type bareConnector struct {
	driver.Connector
	statements bool
}

func (c bareConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return bareConn{conn.(mysqlConn), c.statements}, nil
}

type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

type bareConn struct {
	mysqlConn
	statements bool
}

func (c bareConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.mysqlConn.QueryContext(ctx, query, args)
	if c.statements || err != nil {
		return rows, err
	}
	return struct{ driver.Rows }{rows}, nil
}

func (c bareConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.mysqlConn.PrepareContext(ctx, query)
	if !c.statements || err != nil {
		return stmt, err
	}
	return struct{ driver.Stmt }{stmt}, nil
}

func TestWhatCannotBeWatchedIsLookedAfter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, last := range lastOnes {
			t.Run("with "+name, func(t *testing.T) {
				t.Parallel()
				statements := name != "a later row of a query"
				through := mysqlstore.Connector(bareConnector{connectorTo(t, address, ""), statements})
				b, k := newShop(t, address, through), newKey()
				_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
					b.deadlock(ctx, tx, last)
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				b.answersTx(k, store.Claimed) // nothing says done
			})
		}
	})
}

// simpleConnector has connections that package sql uses in the oldest ways.
type simpleConnector struct{ driver.Connector }

func (c simpleConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return struct {
		driver.Conn
		driver.ConnBeginTx
	}{conn, conn.(driver.ConnBeginTx)}, err
}

func TestConnectionsThatTellNothingAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		b, k := newShop(t, address, mysqlstore.Connector(simpleConnector{connectorTo(t, address, "")})), newKey()
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
			b.deadlock(ctx, tx, lastOnes["a text"])
			return nil
		})
		fails(t, "transact", err, store.NotApplied)
		b.answersTx(k, store.Claimed)
		b.answersTx(k, store.Done)
	})
}

func TestAnErrorThatACallbackDealsWithDoesNotMatter(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		v, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+b.sales+" (nothing) VALUES (1)"); err == nil {
				t.Error("a statement about a column that is not there: got no error")
			}
			return b.sell(k)(ctx, tx, attempt)
		})
		if err != nil || v.State != store.Claimed {
			t.Fatalf("got %+v, %v, want it committed", v, err)
		}
		b.sold(k, 1)
		b.answersTx(k, store.Done)
	})
}

func TestWatchedRowsTellAllAboutTheirColumns(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		const text = "SELECT 1 AS a, 'x' AS b, CAST(1.5 AS DECIMAL(5,2)) AS c; SELECT NOW() AS d"
		var told [2][]string
		for i, tell := range []bool{false, true} {
			b := newShop(t, address, telling(tell, connectorTo(t, address, "multiStatements=true")))
			_, err := b.transact(newKey(), func(ctx context.Context, tx *sql.Tx, _ int) (err error) {
				told[i], err = columns(ctx, tx, text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(told[0]) != 6 || !slices.Equal(told[0], told[1]) {
			t.Errorf("got %q, want %q", told[1], told[0])
		}
	})
}

// columns is what the results of a query tell about their columns and rows.
func columns(ctx context.Context, tx *sql.Tx, text string) (told []string, err error) {
	rows, err := tx.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		types, err := rows.ColumnTypes()
		if err != nil {
			return nil, err
		}
		for _, c := range types {
			precision, scale, _ := c.DecimalSize()
			nullable, known := c.Nullable()
			told = append(told, fmt.Sprint(c.Name(), c.DatabaseTypeName(), c.ScanType(), precision, scale, nullable, known))
		}
		n := 0
		for rows.Next() {
			n++
		}
		told = append(told, fmt.Sprint(n))
	}
	return told, rows.Err()
}

// The answer never comes, and the pool's connections have no timeouts.
func TestACommitThatIsNotAnsweredIsUnknown(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		proxy := testserver.NewProxy(t, address)
		ctx, cancel := context.WithCancel(context.Background())
		b, k := newShop(t, address, telling(tell, watched(t, proxy.Addr(), "COMMIT", func() {
			proxy.BlackHole(true)
			cancel()
		}))), newKey()
		r := store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}
		_, err := b.s.Transact(ctx, r, b.sell(k))
		fails(t, "transact", err, store.Unknown)
		if n := b.through.Stats().InUse; n != 0 {
			t.Errorf("%d connections are in use after that", n)
		}
		proxy.Heal()
	})
}

// The callback's context has no end, so that nothing but the store ends the wait.
func TestTheEndOfATransactionIsWaitedForNoLongerThanItMayTake(t *testing.T) {
	for text, want := range map[string]store.State{"COMMIT": store.Done, "ROLLBACK": store.Claimed} {
		t.Run(text, func(t *testing.T) {
			onConnectors(t, func(t *testing.T, address string, tell bool) {
				proxy := testserver.NewProxy(t, address)
				var armed atomic.Bool
				b, k := newShop(t, address, telling(tell, watched(t, proxy.Addr(), text, func() {
					if armed.CompareAndSwap(true, false) {
						proxy.SwallowReplies(1)
					}
				}))), newKey()
				r := store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}
				began := time.Now()
				_, err := b.s.Transact(context.Background(), r, func(ctx context.Context, tx *sql.Tx, attempt int) error {
					armed.Store(true)
					if text == "ROLLBACK" {
						return errOfCallback
					}
					return b.sell(k)(ctx, tx, attempt)
				})
				if armed.Load() {
					t.Fatalf("no %s was sent", text)
				}
				if took := time.Since(began); took > ample/2 {
					t.Errorf("it took %v", took)
				}
				if text == "ROLLBACK" && err != errOfCallback || text == "COMMIT" && err != nil {
					t.Errorf("got %v", err)
				}
				b.answersTx(k, want)
				b.sold(k, 1)
			})
		})
	}
}

var errOfCallback = errors.New("of the callback")

// lateConnector has connections that come to a statement only when its context
// has ended.
type lateConnector struct {
	driver.Connector
	text string
}

func (c lateConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lateConn{conn.(mysqlConn), c.text}, nil
}

type lateConn struct {
	mysqlConn
	text string
}

func (c lateConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if query == c.text {
		<-ctx.Done()
	}
	return c.mysqlConn.ExecContext(ctx, query, args)
}

// The driver sends nothing then, and the next transaction on the connection would
// commit what is left open on it.
func TestNoConnectionIsUsedAgainOnWhichATransactionIsOpen(t *testing.T) {
	for _, text := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(text, func(t *testing.T) {
			onConnectors(t, func(t *testing.T, address string, tell bool) {
				b := newShop(t, address, telling(tell, lateConnector{connectorTo(t, address, ""), text}))
				b.through.SetMaxOpenConns(1)
				k := newKey()
				_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
					if err := b.sell(k)(ctx, tx, attempt); err != nil || text == "COMMIT" {
						return err
					}
					return errOfCallback
				})
				if text == "ROLLBACK" && err != errOfCallback || text == "COMMIT" && store.ClassOf(err) != store.NotApplied {
					t.Errorf("got %v", err)
				}
				_, err = b.transact(newKey(), func(context.Context, *sql.Tx, int) error {
					if text == "COMMIT" {
						return errOfCallback
					}
					return nil
				})
				if (err == nil) != (text == "ROLLBACK") {
					t.Errorf("the next one: got %v", err)
				}
				b.sold(k, 0)
			})
		})
	}
}
