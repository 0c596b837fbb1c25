package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// lateConnector has connections that call before what they execute is sent.
type lateConnector struct {
	driver.Connector
	before func(ctx context.Context, statement string)
}

func (c lateConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lateConn{conn.(mysqlConn), c.before}, nil
}

type lateConn struct {
	mysqlConn
	before func(ctx context.Context, statement string)
}

func (c lateConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.before(ctx, query)
	return c.mysqlConn.ExecContext(ctx, query, args)
}

// The driver sends nothing then, and the connection is as good as ever: what is
// open on it must not be committed by the next transaction that begins.
func TestAContextThatEndsRightBeforeTheCommitLeavesNoTransactionOpen(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		for name, wrap := range map[string]func(driver.Connector) driver.Connector{
			"as it is": func(c driver.Connector) driver.Connector { return c },
			"wrapped":  func(c driver.Connector) driver.Connector { return plainConnector{c} },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(context.Background())
				late := lateConnector{connectorTo(t, address, ""), func(_ context.Context, statement string) {
					if statement == "COMMIT" {
						cancel()
					}
				}}
				b, k := newShop(t, address, wrap(telling(tell, late))), newKey()
				b.through.SetMaxOpenConns(1)
				_, err := b.s.Transact(ctx, store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}, b.sell(k))
				fails(t, "transact", err, store.NotApplied)
				b.sold(k, 0)
				b.answersTx(k, store.Claimed)
				b.sold(k, 1)
			})
		}
	})
}

// callsOf are the ways to call what handles its errors itself.
var callsOf = map[string]func(ctx context.Context, tx *sql.Tx, call string) error{
	"a text": func(ctx context.Context, tx *sql.Tx, call string) error {
		_, err := tx.ExecContext(ctx, call)
		return err
	},
	"a query": func(ctx context.Context, tx *sql.Tx, call string) error { return drained(tx.QueryContext(ctx, call)) },
	"a prepared statement": func(ctx context.Context, tx *sql.Tx, call string) error {
		stmt, err := tx.PrepareContext(ctx, call)
		if err != nil {
			return err
		}
		_, err = stmt.ExecContext(ctx)
		return err
	},
	"a prepared query": func(ctx context.Context, tx *sql.Tx, call string) error {
		stmt, err := tx.PrepareContext(ctx, call)
		if err != nil {
			return err
		}
		return drained(stmt.QueryContext(ctx))
	},
}

// drained reads all that a query answers.
func drained(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // Err has what matters
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			continue
		}
	}
	return rows.Err()
}

// A procedure may handle errors, too, and then nobody hears of them.
func TestADeadlockThatAProcedureKeepsToItselfIsNotCommitted(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		for name, calls := range callsOf {
			t.Run("called by "+name, func(t *testing.T) {
				t.Parallel()
				b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
				b.stock = b.newStock()
				procedure := b.stock + "_p"
				executes(t, b.db, "CREATE PROCEDURE %s() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;"+
					" UPDATE %s SET n = n + 1 WHERE id = 2; END", procedure, b.stock)
				t.Cleanup(func() { drop(t, b.db, "PROCEDURE "+procedure) })
				_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
					b.victim(ctx, tx, func(ctx context.Context, tx *sql.Tx, _ string) error {
						return calls(ctx, tx, "CALL "+procedure+"()")
					}, 0)
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				b.answersTx(k, store.Claimed)
			})
		}
	})
}

func TestADeadlockThatABlockKeepsToItselfIsNotCommitted(t *testing.T) {
	t.Parallel()
	b, k := newShop(t, storetest.Server(t, "DEDUP_TEST_MARIADB"),
		mysqlstore.Connector(connectorTo(t, storetest.Server(t, "DEDUP_TEST_MARIADB"), ""))), newKey()
	_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
		b.victim(ctx, tx, func(ctx context.Context, tx *sql.Tx, table string) error {
			_, err := tx.ExecContext(ctx, "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;"+
				" UPDATE "+table+" SET n = n + 1 WHERE id = 2; END")
			return err
		}, 0)
		return nil
	})
	fails(t, "transact", err, store.NotApplied)
	b.answersTx(k, store.Claimed)
}

// The second result fails: who looks for it is told, and who does not look leaves
// it to Close.
func TestADeadlockInALaterResultIsNotCommitted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, read := range map[string]func(*sql.Rows) error{
			"looked for":     func(rows *sql.Rows) error { return drained(rows, nil) },
			"not looked for": func(rows *sql.Rows) error { return rows.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := mysqlstore.Connector(connectorTo(t, address, "multiStatements=true"))
				b, k := newShop(t, address, c), newKey()
				_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
					b.deadlock(ctx, tx, func(ctx context.Context, tx *sql.Tx, table string) error {
						rows, err := tx.QueryContext(ctx, "SELECT 1; UPDATE "+table+" SET n = n + 1 WHERE id = 2")
						if err != nil {
							return err
						}
						return read(rows)
					})
					if err := b.sell(k)(ctx, tx, attempt); err == nil {
						t.Error("a statement after the deadlock is not refused")
					}
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				b.sold(k, 0)
			})
		}
	})
}

// A look costs a round trip, which what is no failure must not cause.
func TestATransactionWithoutAFailureIsNotLookedAfter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		var looks atomic.Int32
		b, k := newShop(t, address, mysqlstore.Connector(lateConnector{connectorTo(t, address, ""), func(_ context.Context, statement string) {
			if strings.Contains(statement, "SET decision = LAST_INSERT_ID") {
				looks.Add(1)
			}
		}})), newKey()
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			// Arguments have the driver tell package sql to prepare it, and rows have an end.
			return errors.Join(b.sell(k)(ctx, tx, attempt), drained(tx.QueryContext(ctx, "SELECT * FROM "+b.sales)))
		})
		if err != nil || looks.Load() != 0 {
			t.Errorf("got %v and %d looks, want none", err, looks.Load())
		}
	})
}

// plainConnector wraps what Connector returns, as tracers do, in connections that
// have no more than they must.
type plainConnector struct{ driver.Connector }

func (c plainConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full := conn.(mysqlConn)
	return struct {
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.ExecerContext
		driver.QueryerContext
	}{full, full, full, full, full}, nil
}

// Without a call of ResetSession nothing may be left of a transaction, either.
func TestATransactionThatWasRefusedLeavesItsConnectionToOthers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, wrap := range map[string]func(driver.Connector) driver.Connector{
			"as it is": func(c driver.Connector) driver.Connector { return c },
			"wrapped":  func(c driver.Connector) driver.Connector { return plainConnector{c} },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b, k := newShop(t, address, wrap(mysqlstore.Connector(connectorTo(t, address, "")))), newKey()
				b.through.SetMaxOpenConns(1)
				_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
					b.deadlock(ctx, tx, lastOnes["a text"])
					if err := b.sell(k)(ctx, tx, attempt); err == nil {
						t.Error("a statement after the deadlock is not refused")
					}
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				executes(t, b.through, "UPDATE %s SET what = what", b.sales)
				tx, err := b.through.BeginTx(within(t, ample), nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(b.sell(k)(within(t, ample), tx, 1), tx.Commit()); err != nil {
					t.Errorf("a transaction of somebody else: %v", err)
				}
				b.sold(k, 1)
				b.answersTx(k, store.Claimed)
			})
		}
	})
}

// MariaDB undoes a transaction, too, that writes what has changed since it looked.
func TestATransactionThatAChangedRowHasUndoneIsNotCommitted(t *testing.T) {
	t.Parallel()
	address := storetest.Server(t, "DEDUP_TEST_MARIADB")
	for name, tell := range map[string]bool{"errors are told": true, "errors are not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, k := newShop(t, address, telling(tell, connectorTo(t, address, "innodb_snapshot_isolation=1"))), newKey()
			stock := b.newStock()
			_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
				if err := tx.QueryRowContext(ctx, "SELECT n FROM "+stock+" WHERE id = 1").Scan(new(int)); err != nil {
					return err
				}
				executes(t, b.db, "UPDATE %s SET n = 7 WHERE id = 1", stock)
				var met *mysql.MySQLError
				_, err := tx.ExecContext(ctx, "UPDATE "+stock+" SET n = n + 1 WHERE id = 1")
				if !errors.As(err, &met) || met.Number != 1020 {
					t.Errorf("got %v, want error 1020", err)
				}
				if err := b.sell(k)(ctx, tx, attempt); (err != nil) != tell {
					t.Errorf("a statement after that: got %v, want it refused: %t", err, tell)
				}
				return nil
			})
			fails(t, "transact", err, store.NotApplied)
			if tell {
				b.sold(k, 0)
			}
			b.answersTx(k, store.Claimed)
		})
	}
}

// A statement of the pool stays prepared on its connections, transaction after
// transaction.
func TestAStatementThatIsOlderThanItsTransactionIsWatchedOrLookedAfter(t *testing.T) {
	onServers(t, func(t *testing.T, address string) {
		for name, wrap := range map[string]func(driver.Connector) driver.Connector{
			"watched":           func(c driver.Connector) driver.Connector { return c },
			"cannot be watched": func(c driver.Connector) driver.Connector { return bareConnector{c, true} },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b, k := newShop(t, address, mysqlstore.Connector(wrap(connectorTo(t, address, "")))), newKey()
				b.through.SetMaxOpenConns(1)
				b.stock = b.newStock()
				old, err := b.through.PrepareContext(within(t, ample), "UPDATE "+b.stock+" SET n = n + 1 WHERE id = 2")
				if err != nil {
					t.Fatal(err)
				}
				_, err = b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
					b.deadlock(ctx, tx, func(ctx context.Context, tx *sql.Tx, _ string) error {
						_, err := tx.StmtContext(ctx, old).ExecContext(ctx)
						return err
					})
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				b.answersTx(k, store.Claimed)
			})
		}
	})
}

// By the token of the record others find out how a transaction has ended.
func TestTheRecordOfATransactionHasItsTokenOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for name, open := range map[string]func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error){
			"native": mysqlstore.New, "beside the original": mysqlstore.NewJavaCompatible,
		} {
			db := pool(t, address, "")
			s, err := open(db, mysqlstore.Options{Table: table(t, db)})
			if err == nil {
				err = s.Migrate(within(t, ample))
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lapsed, fresh := newKey(), newKey()
			before := store.NewToken()
			claims(t, s, request(lapsed, before), 1)
			releases(t, s, lapsed, before)
			for _, k := range []store.Key{lapsed, fresh} {
				r := store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}
				_, err := s.Transact(within(t, ample), r, func(ctx context.Context, _ *sql.Tx, _ int) error {
					if record, err := s.Get(ctx, k); err == nil && record.Status == store.StatusConsumed {
						t.Errorf("%s: got %+v before the commit", name, record)
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				// A consumer that comes late with the same key changes nothing of it.
				completes(t, s, k, before, 2*time.Hour, store.AlreadyDone)
				record, err := s.Get(within(t, ample), k)
				if err != nil || record.Status != store.StatusConsumed || record.Token != r.Token {
					t.Errorf("%s: got %+v, %v, want it done by %v", name, record, err, r.Token)
				}
			}
		}
	})
}

// closing is a connector that a pool must close.
type closing struct {
	driver.Connector
	err error
}

func (c closing) Close() error { return c.err }

func TestAPoolClosesTheConnectorThatIsWrapped(t *testing.T) {
	t.Parallel()
	failure := errors.New("out of order")
	if err := sql.OpenDB(mysqlstore.Connector(closing{err: failure})).Close(); !errors.Is(err, failure) {
		t.Errorf("got %v, want its error", err)
	}
}

// What cannot be watched cannot be refused, either, so it is not even prepared.
func TestNothingIsPreparedAfterADeadlock(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		b, k := newShop(t, address, mysqlstore.Connector(bareConnector{connectorTo(t, address, ""), true})), newKey()
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			b.deadlock(ctx, tx, lastOnes["a text"])
			if err := b.sell(k)(ctx, tx, attempt); err == nil {
				t.Error("a statement after the deadlock is not refused")
			}
			if _, err := tx.PrepareContext(ctx, "UPDATE "+b.sales+" SET what = 'x'"); err == nil {
				t.Error("a statement is prepared after the deadlock")
			}
			return nil
		})
		fails(t, "transact", err, store.NotApplied)
		b.sold(k, 0)
	})
}
