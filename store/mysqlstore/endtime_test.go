package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

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

// The driver sends nothing then, and the next transaction on the connection would
// commit what is left open on it.
func TestNoConnectionIsUsedAgainOnWhichATransactionIsOpen(t *testing.T) {
	for _, text := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(text, func(t *testing.T) {
			onConnectors(t, func(t *testing.T, address string, tell bool) {
				b := newShop(t, address, telling(tell, lateConnector{connectorTo(t, address, ""),
					func(ctx context.Context, statement string) {
						if statement == text {
							<-ctx.Done()
						}
					}}))
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
