package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestACallbackLearnsHowItsTransactionEnded(t *testing.T) {
	t.Parallel()
	failed := func(class store.Class) error {
		return &store.Error{Driver: "test", Op: "transact", Class: class, Err: errBoom}
	}
	for name, c := range map[string]struct {
		callback func(context.Context) error
		commit   error
		want     dedup.TxEnd
	}{
		"committed":                        {succeed, nil, dedup.TxCommitted},
		"the callback failed":              {fail, nil, dedup.TxRolledBack},
		"the callback panicked":            {func(context.Context) error { panic("out") }, nil, dedup.TxRolledBack},
		"the effect was there":             {alreadyDone, nil, dedup.TxRolledBack},
		"the commit failed":                {succeed, failed(store.NotApplied), dedup.TxRolledBack},
		"the commit's answer was lost":     {succeed, failed(store.Unknown), dedup.TxUnknown},
		"the commit failed for good":       {succeed, failed(store.Permanent), dedup.TxUnknown},
		"the commit failed without a word": {succeed, errBoom, dedup.TxUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLedger(t)
				l.db.commit = func() error { return c.commit }
				var ends []dedup.TxEnd
				l.deliver(t, short(), func(ctx context.Context) error {
					for range 2 {
						if _, err := dedup.AfterTx(ctx, func(e dedup.TxEnd) { ends = append(ends, e) }); err != nil {
							t.Error(err)
						}
					}
					return c.callback(ctx)
				})
				if len(ends) != 2 || ends[0] != c.want || ends[1] != c.want {
					t.Errorf("got %v, want %v twice", ends, c.want)
				}
			})
		})
	}
}

func alreadyDone(context.Context) error { return dedup.AlreadyDone(errBoom) }

func TestTheTokenOfATransactionIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		var token store.Token
		committed := false
		l.deliver(t, short(), func(ctx context.Context) (err error) {
			token, err = dedup.AfterTx(ctx, func(dedup.TxEnd) {
				record, err := l.db.Get(t.Context(), key("1"))
				committed = err == nil && record.Status == store.StatusConsumed
			})
			return err
		})
		record, err := l.db.Get(t.Context(), key("1"))
		if err != nil || record.Token != token || token.IsZero() {
			t.Errorf("got %v of %+v, %v, want the token of the record", token, record, err)
		}
		if !committed {
			t.Error("told before the commit")
		}
	})
}

// Else whoever finds the record would believe that the transaction was committed.
func TestTheTokenOfATransactionThatIsRolledBackCompletesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		var token store.Token
		r := l.deliver(t, short(), func(ctx context.Context) error {
			var err error
			token, err = dedup.AfterTx(ctx, func(dedup.TxEnd) {})
			return dedup.AlreadyDone(errors.Join(errBoom, err))
		})
		want(t, r, dedup.Skipped, nil)
		record, err := l.db.Get(t.Context(), key("1"))
		if err != nil || record.Status != store.StatusConsumed || record.Token == token || record.Token.IsZero() {
			t.Errorf("got %+v, %v, want it done by another token than %v", record, err, token)
		}
	})
}

func TestOnlyARunningTransactionHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		never := func(dedup.TxEnd) { t.Error("called") }
		refused := func(where string, ctx context.Context) {
			t.Helper()
			if token, err := dedup.AfterTx(ctx, never); !errors.Is(err, dedup.ErrNoTransaction) || !token.IsZero() {
				t.Errorf("%s: got %v, %v, want %v", where, token, err, dedup.ErrNoTransaction)
			}
		}
		refused("outside of a callback", t.Context())
		var late context.Context
		l.deliver(t, short(), func(ctx context.Context) error {
			late = ctx
			_, err := dedup.AfterTx(ctx, func(dedup.TxEnd) { refused("at the end", ctx) })
			return err
		})
		refused("after the end", late)
		_, err := l.Do(t.Context(), key("2"), short(), func(ctx context.Context) error {
			refused("in a callback with a claim", ctx)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAPanicAfterATransactionChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		var log bytes.Buffer
		g, err := dedup.New(l.db, dedup.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		l.Guard = g
		told := false
		r := l.deliver(t, short(), func(ctx context.Context) error {
			_, err := dedup.AfterTx(ctx, func(dedup.TxEnd) { panic("out") })
			_, errToo := dedup.AfterTx(ctx, func(dedup.TxEnd) { told = true })
			return errors.Join(err, errToo)
		})
		want(t, r, dedup.Ran, nil)
		if !told {
			t.Error("the second was not told")
		}
		if !strings.Contains(log.String(), "dedup: callback panicked: out") {
			t.Errorf("got the log %s, want the panic", log.String())
		}
	})
}
