package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// lastOnes are statements that lock row 2 of a table, each in another way.
var lastOnes = map[string]func(ctx context.Context, tx *sql.Tx, table string) error{
	"a text": func(ctx context.Context, tx *sql.Tx, table string) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+table+" SET n = n + 1 WHERE id = 2")
		return err
	},
	"a text with arguments": func(ctx context.Context, tx *sql.Tx, table string) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+table+" SET n = n + ? WHERE id = ?", 1, 2)
		return err
	},
	"a prepared statement": func(ctx context.Context, tx *sql.Tx, table string) error {
		stmt, err := tx.PrepareContext(ctx, "UPDATE "+table+" SET n = n + ? WHERE id = ?")
		if err != nil {
			return err
		}
		_, err = stmt.ExecContext(ctx, 1, 2)
		return err
	},
	"a query": func(ctx context.Context, tx *sql.Tx, table string) error {
		return tx.QueryRowContext(ctx, "SELECT n FROM "+table+" WHERE id = 2 FOR UPDATE").Scan(new(int))
	},
	"a prepared query": func(ctx context.Context, tx *sql.Tx, table string) error {
		stmt, err := tx.PrepareContext(ctx, "SELECT n FROM "+table+" WHERE id = ? FOR UPDATE")
		if err != nil {
			return err
		}
		return stmt.QueryRowContext(ctx, 2).Scan(new(int))
	},
	"a later row of a query": func(ctx context.Context, tx *sql.Tx, table string) error {
		rows, err := tx.QueryContext(ctx, "SELECT n FROM "+table+" WHERE id BETWEEN 1 AND 2 ORDER BY id FOR UPDATE")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			continue
		}
		return rows.Err()
	},
}

// With a connector that tells of errors what a callback does after a deadlock is
// refused; with another one it is executed, in no transaction.
func TestATransactionThatADeadlockHasUndoneIsNotCommitted(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		for name, last := range lastOnes {
			t.Run("with "+name, func(t *testing.T) {
				t.Parallel()
				b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
				v, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
					b.deadlock(ctx, tx, last)
					if err := b.sell(k)(ctx, tx, attempt); (err != nil) != tell {
						t.Errorf("a statement after the deadlock: got %v, want it refused: %t", err, tell)
					}
					return nil
				})
				fails(t, "transact", err, store.NotApplied)
				if v.State == store.Done {
					t.Errorf("got %+v", v)
				}
				if tell {
					b.sold(k, 0)
				}
				b.answersTx(k, store.Claimed) // nothing says done
			})
		}
	})
}

// There is a record from before, and the deadlock has brought that back.
func TestATakeOverThatADeadlockHasUndoneIsNotCommitted(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		token := store.NewToken()
		claims(t, b.s, request(k, token), 1)
		releases(t, b.s, k, token)
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
			b.deadlock(ctx, tx, lastOnes["a text"])
			return nil
		})
		fails(t, "transact", err, store.NotApplied)
		if v := b.answersTx(k, store.Claimed); v.Attempt != 2 {
			t.Errorf("got attempt %d, want 2", v.Attempt)
		}
	})
}

// newStock is a table with two rows.
func (b *shop) newStock() string {
	b.t.Helper()
	stock := table(b.t, b.db)
	executes(b.t, b.db, "CREATE TABLE %s (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB", stock)
	executes(b.t, b.db, "INSERT INTO %s VALUES (1, 0), (2, 0)", stock)
	return stock
}

// deadlock has tx be the victim of a deadlock, which its last statement meets.
func (b *shop) deadlock(ctx context.Context, tx *sql.Tx,
	last func(ctx context.Context, tx *sql.Tx, table string) error) {
	b.t.Helper()
	b.victim(ctx, tx, last, 1213)
}

// victim is deadlock, of which last answers the number want, or no error for 0.
func (b *shop) victim(ctx context.Context, tx *sql.Tx,
	last func(ctx context.Context, tx *sql.Tx, table string) error, want uint16) {
	b.t.Helper()
	stock := b.stock
	if stock == "" {
		stock = b.newStock()
	}
	take := func(tx *sql.Tx, row string) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+stock+" SET n = n + 1 WHERE id = "+row)
		return err
	}
	rival, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rival.Rollback() // it is not about the rival
	heavy := "INSERT INTO " + b.sales + " (what) VALUES ('x')" + strings.Repeat(", ('x')", 100)
	for _, tx := range []*sql.Tx{tx, rival} {
		if _, err := tx.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = 50"); err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := rival.ExecContext(ctx, heavy); err != nil { // so that the other is the victim
		b.t.Fatal(err)
	}
	if err := take(rival, "2"); err != nil {
		b.t.Fatal(err)
	}
	if err := take(tx, "1"); err != nil {
		b.t.Fatal(err)
	}
	rivals := make(chan error)
	go func() { rivals <- take(rival, "1") }()
	var met *mysql.MySQLError
	err = last(ctx, tx, stock)
	switch errors.As(err, &met); {
	case want == 0 && err != nil, want != 0 && (met == nil || met.Number != want):
		b.t.Errorf("got %v, want error %d", err, want)
	}
	if err := <-rivals; err != nil {
		b.t.Errorf("the rival: %v", err)
	}
}

// The server has undone one statement only, and would commit the others.
func TestATransactionThatALockWaitTimeoutHasCutIsNotCommitted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		b, k := newShop(t, address, telling(true, connectorTo(t, address, ""))), newKey()
		stock := b.newStock()
		rival, err := b.db.BeginTx(within(t, ample), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer rival.Rollback() // it is not about the rival
		if _, err := rival.Exec("UPDATE " + stock + " SET n = 1 WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		_, err = b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if err := b.sell(k)(ctx, tx, attempt); err != nil {
				return err
			}
			old, err := tx.PrepareContext(ctx, "UPDATE "+stock+" SET n = 3 WHERE id = 1")
			if err != nil {
				return err
			}
			oldQuery, err := tx.PrepareContext(ctx, "SELECT n FROM "+stock+" WHERE id = 1")
			if err != nil {
				return err
			}
			var met *mysql.MySQLError
			if err := lastOnes["a text"](ctx, tx, stock); !errors.As(err, &met) || met.Number != 1205 {
				t.Errorf("got %v, want a lock wait timeout", err)
			}
			for name, next := range lastOnes {
				if err := next(ctx, tx, stock); err == nil || errors.As(err, &met) {
					t.Errorf("%s after that: got %v, want it refused", name, err)
				}
			}
			if _, err := old.ExecContext(ctx); err == nil {
				t.Error("a statement that was prepared before that is not refused")
			}
			if err := oldQuery.QueryRowContext(ctx).Scan(new(int)); err == nil {
				t.Error("a query that was prepared before that is not refused")
			}
			return nil
		})
		fails(t, "transact", err, store.NotApplied)
		b.sold(k, 0)
	})
}
