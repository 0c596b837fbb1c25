package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
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
