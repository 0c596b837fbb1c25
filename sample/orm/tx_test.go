package orm_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/orm"
)

// commands are what the session of tx has sent by now of what begins, ends or divides
// transactions.
func commands(ctx context.Context, t *testing.T, tx *sql.Tx) map[string]int {
	t.Helper()
	rows, err := tx.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name IN"+
		" ('Com_begin', 'Com_commit', 'Com_rollback', 'Com_savepoint', 'Com_rollback_to_savepoint')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sent := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		sent[name] = n
	}
	if err := rows.Err(); err != nil || len(sent) != 5 {
		t.Fatalf("got %v, %v, want 5 numbers", sent, err)
	}
	return sent
}

func TestNoLibraryBeginsOrEndsATransaction(t *testing.T) {
	t.Parallel()
	eachHandler(t, func(t *testing.T, w *world, book listener.TxHandler) {
		watched := func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
			before := commands(ctx, t, tx)
			err := book(ctx, tx, m)
			if after := commands(ctx, t, tx); !maps.Equal(before, after) {
				t.Errorf("it has sent %v, and %v before", after, before)
			}
			return err
		}
		if !w.deliver(watched, "A1001") {
			t.Error("it was not acknowledged")
		}
		w.want(1, items-1)
	})
}

// What GORM does in the transaction of a message, whatever it was opened with.
func TestGORMStaysInTheTransaction(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]gorm.Config{
		"as it is":                     {},
		"without default transactions": {SkipDefaultTransaction: true},
		"with prepared statements":     {PrepareStmt: true},
		"without savepoints":           {DisableNestedTransaction: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			config.Logger = logger.Discard
			opened, err := gorm.Open(mysql.New(mysql.Config{Conn: w.pool}), &config)
			if err != nil {
				t.Fatal(err)
			}
			savepoints := !config.DisableNestedTransaction
			failure := errors.New("warehouse is closed")
			handler := func(ctx context.Context, tx *sql.Tx, _ *primitive.MessageExt) error {
				before := commands(ctx, t, tx)
				workWithGORM(t, orm.GORM(ctx, opened, tx), w.shop.Orders, savepoints)
				after := commands(ctx, t, tx)
				if (after["Com_savepoint"] > before["Com_savepoint"]) != savepoints {
					t.Errorf("got %v savepoints before and %v after", before["Com_savepoint"], after["Com_savepoint"])
				}
				for _, command := range []string{"Com_begin", "Com_commit", "Com_rollback"} {
					if before[command] != after[command] {
						t.Errorf("%s: got %d, want %d", command, after[command], before[command])
					}
				}
				return failure
			}
			if w.deliver(handler, "A1001") {
				t.Error("a failure was acknowledged")
			}
			w.want(0, items)
			failure = nil
			if !w.deliver(handler, "A1001") {
				t.Error("it was not acknowledged")
			}
			orders := 4
			if !savepoints {
				orders = 5 // what failed alone is there
			}
			w.want(orders, items)
			if err := opened.Table(w.shop.Orders).Create(&orm.Order{No: "later", Item: orm.Item}).Error; err != nil {
				t.Errorf("GORM itself is of no use any more: %v", err)
			}
			w.want(orders+1, items)
		})
	}
}

// workWithGORM writes an order, three in batches, and one in a transaction of its own
// that fails. It reads them back.
func workWithGORM(t *testing.T, g *gorm.DB, orders string, savepoints bool) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(g.Table(orders).Create(&orm.Order{No: "1", Item: orm.Item}).Error)
	must(g.Table(orders).CreateInBatches([]orm.Order{{No: "2"}, {No: "3"}, {No: "4"}}, 2).Error)
	refused := errors.New("refused")
	err := g.Transaction(func(nested *gorm.DB) error {
		must(nested.Table(orders).Create(&orm.Order{No: "5"}).Error)
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
	var found []orm.Order
	must(g.Table(orders).Order("no").Find(&found).Error)
	want := 4
	if !savepoints {
		want = 5
	}
	if len(found) != want || found[0].No != "1" {
		t.Errorf("got %v, want %d orders", found, want)
	}
	if err := g.Begin().Error; !errors.Is(err, gorm.ErrInvalidTransaction) {
		t.Errorf("Begin: got %v, want %v", err, gorm.ErrInvalidTransaction)
	}
}
