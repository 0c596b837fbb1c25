package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// shop is a store with a business table in the same file.
type shop struct {
	t  *testing.T
	db *sql.DB
	s  *sqlitestore.Store
}

func newShop(t *testing.T) *shop {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	s, err := sqlitestore.New(t.Context(), db, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // nothing is under way
	if _, err := db.Exec(`CREATE TABLE sale (what TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return &shop{t, db, s}
}

func (b *shop) sell(k store.Key) func(context.Context, *sql.Tx, int) error {
	return func(ctx context.Context, tx *sql.Tx, _ int) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sale VALUES (?)`, k.ID)
		return err
	}
}

func (b *shop) sold(k store.Key, want int) {
	b.t.Helper()
	var got int
	if err := b.db.QueryRow(`SELECT COUNT(*) FROM sale WHERE what = ?`, k.ID).Scan(&got); err != nil || got != want {
		b.t.Errorf("sold %d times, %v, want %d", got, err, want)
	}
}

func (b *shop) transact(k store.Key, do func(context.Context, *sql.Tx, int) error) (store.Verdict, error) {
	return b.s.Transact(b.t.Context(), store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour}, do)
}

func (b *shop) answers(k store.Key, want store.State) store.Verdict {
	b.t.Helper()
	v, err := b.transact(k, b.sell(k))
	if err != nil || v.State != want {
		b.t.Fatalf("transact: got %+v, %v, want %v", v, err, want)
	}
	return v
}

func TestARecordAndTheBusinessAreCommittedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b, k, failure := newShop(t), store.Key{Application: "a", Topic: "t", ID: "1"}, errors.New("no stock")
	v, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
		return errors.Join(b.sell(k)(ctx, tx, attempt), failure)
	})
	if !errors.Is(err, failure) || v.State != store.Claimed {
		t.Fatalf("got %+v, %v, want the callback's error", v, err)
	}
	b.sold(k, 0)
	if v := b.answers(k, store.Claimed); v.Attempt != 1 {
		t.Errorf("got attempt %d, want 1: nothing has remained of the first", v.Attempt)
	}
	b.answers(k, store.Done)
	b.sold(k, 1)
}

func TestATransactionKeepsClearOfClaimsAndTakesLapsedOnesOver(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	held, released := store.Key{Application: "a", Topic: "t", ID: "h"}, store.Key{Application: "a", Topic: "t", ID: "r"}
	token := store.NewToken()
	for _, k := range []store.Key{held, released} {
		r := store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: time.Hour}
		if v, err := b.s.Claim(t.Context(), r); err != nil || v.State != store.Claimed {
			t.Fatalf("claim: got %+v, %v", v, err)
		}
	}
	if err := b.s.Release(t.Context(), released, token, true); err != nil {
		t.Fatal(err)
	}
	if v := b.answers(held, store.Busy); v.Left <= 0 || v.Left > time.Minute {
		t.Errorf("got %v left, want up to a minute", v.Left)
	}
	if v := b.answers(released, store.Claimed); v.Attempt != 2 {
		t.Errorf("got attempt %d, want 2", v.Attempt)
	}
	b.sold(held, 0)
	b.sold(released, 1)
}

func TestATransactionThatWasUndoneMeanwhileIsNotCommitted(t *testing.T) {
	t.Parallel()
	b, k := newShop(t), store.Key{Application: "a", Topic: "t", ID: "1"}
	_, err := b.transact(k, func(ctx context.Context, tx *sql.Tx, attempt int) error {
		// What SQLite does itself when the disk is full, and a callback that takes no notice.
		if _, err := tx.ExecContext(ctx, `ROLLBACK`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `BEGIN`)
		return errors.Join(err, b.sell(k)(ctx, tx, attempt))
	})
	if store.ClassOf(err) != store.NotApplied {
		t.Fatalf("got %v, want an error that says that nothing has changed", err)
	}
	b.sold(k, 0)
	b.answers(k, store.Claimed)
	b.sold(k, 1)
}

func TestOfManyTransactionsOfAKeyOneIsCommitted(t *testing.T) {
	t.Parallel()
	b := newShop(t)
	keys := []store.Key{{Application: "a", Topic: "t", ID: "1"}, {Application: "a", Topic: "t", ID: "2"}}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			k := keys[i%len(keys)]
			if v, err := b.transact(k, b.sell(k)); err != nil || v.State != store.Claimed && v.State != store.Done {
				t.Errorf("got %+v, %v, want it committed or done", v, err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		b.sold(k, 1)
	}
}

func TestAPanicOrTheEndOfTheContextRollsATransactionBack(t *testing.T) {
	t.Parallel()
	b, k := newShop(t), store.Key{Application: "a", Topic: "t", ID: "1"}
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
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.s.Transact(ctx, store.TxRequest{Key: k, Token: store.NewToken(), Keep: time.Hour},
		func(ctx context.Context, tx *sql.Tx, attempt int) error {
			defer cancel()
			return b.sell(k)(ctx, tx, attempt)
		})
	if store.ClassOf(err) != store.NotApplied {
		t.Fatalf("got %v, want an error that says that nothing has changed", err)
	}
	b.sold(k, 0)
	b.answers(k, store.Claimed)
	b.sold(k, 1)
}
