package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// tells wants an error that says something.
func tells(t *testing.T, err error, what string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), what) {
		t.Errorf("got %v, want an error that says %q", err, what)
	}
}

// Over a Connector nothing is committed but by Transact.
func TestACallbackThatEndsItsTransactionIsTold(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b := newShop(t, address, telling(tell, connectorTo(t, address, "")))
		run := func(k store.Key, end func(*sql.Tx) error, result error) error {
			_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
				if err := b.sell(k)(ctx, tx, attempt); err != nil {
					return err
				}
				if err := end(tx); (err != nil) != tell {
					t.Errorf("its own end: got %v, want it refused: %t", err, tell)
				}
				return result
			})
			return err
		}
		committed, failed, undone := newKey(), newKey(), newKey()
		err := run(committed, (*sql.Tx).Commit, nil)
		failure := run(failed, (*sql.Tx).Commit, errOfCallback)
		if !errors.Is(failure, errOfCallback) {
			t.Errorf("got %v, want the callback's error", failure)
		}
		if tell {
			tells(t, err, "leave Commit and Rollback out")
			b.sold(committed, 0)
			b.sold(failed, 0)
			b.answersTx(failed, store.Claimed)
		} else {
			if err != nil {
				t.Errorf("got %v, want what is committed to count", err)
			}
			tells(t, failure, "says done all the same")
			b.sold(committed, 1)
			b.answersTx(failed, store.Done)
		}
		tell = false
		fails(t, "transact", run(undone, (*sql.Tx).Rollback, nil), store.NotApplied)
		b.sold(undone, 0)
		b.answersTx(undone, store.Claimed)
	})
}

func TestACallbackThatFailsAfterAStatementThatCommitsIsTold(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		made := table(t, b.db)
		_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, _ int) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE "+made+" (id INT) ENGINE=InnoDB"); err != nil {
				t.Error(err)
			}
			return errOfCallback
		})
		if !errors.Is(err, errOfCallback) {
			t.Errorf("got %v, want the callback's error", err)
		}
		tells(t, err, "says done all the same")
		b.answersTx(k, store.Done)
	})
}

func TestATransactionThatWaitsInVainTellsForWhat(t *testing.T) {
	onConnectors(t, func(t *testing.T, address string, tell bool) {
		b, k := newShop(t, address, telling(tell, connectorTo(t, address, ""))), newKey()
		b.through.SetMaxOpenConns(2)
		shortly := func(k store.Key) error { // more briefly than the server waits for a row
			return briefly(t, 600*time.Millisecond, func(ctx context.Context) error {
				_, err := b.s.Transact(ctx, store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}, b.sell(k))
				return err
			})
		}
		b.answersTx(newKey(), store.Claimed) // which prepares
		connected(t, b.through, 2)
		_, err := b.transact(k, func(ctx context.Context, _ *sql.Tx, _ int) error {
			tells(t, shortly(k), "see innodb_lock_wait_timeout")
			_, err := b.transact(newKey(), func(context.Context, *sql.Tx, int) error {
				tells(t, shortly(newKey()), "all 2 connections of the pool are in use: see SetMaxOpenConns")
				return nil
			})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// connected has n connections of a pool ready, so that nobody waits for one to be
// made.
func connected(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		conn, err := db.Conn(within(t, ample))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // gives it back to the pool
	}
}

func TestAMissingStepIsToldWithItsRemedy(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		missing := over(t, db, table(t, db))
		_, err := missing.Claim(within(t, ample), request(newKey(), store.NewToken()))
		fails(t, "claim without a table", err, store.Permanent)
		tells(t, err, "call Migrate, or run the statement of Schema")
		wrong := over(t, opened(t, "root@tcp("+address+")/dedup?innodb_lock_wait_time=1"), "any")
		err = wrong.Check(within(t, ample))
		fails(t, "check with a wrong parameter", err, store.Permanent)
		tells(t, err, "'innodb_lock_wait_time': the DSN has a parameter that is no variable of this server")
		nowhere := over(t, opened(t, "root@tcp("+address+")/?innodb_lock_wait_timeout=1"), "any")
		err = nowhere.Migrate(within(t, ample))
		fails(t, "migrate without a database", err, store.Permanent)
		tells(t, err, "name a database after the / in the DSN")
	})
}
