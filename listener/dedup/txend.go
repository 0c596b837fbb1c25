package dedup

import (
	"context"
	"errors"
	"log/slog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// ErrNoTransaction says that a context is not that of a callback in a transaction,
// or that the transaction has ended.
var ErrNoTransaction = errors.New("dedup: the context belongs to no transaction that is running")

// TxEnd is how the transaction of a callback ended. The zero TxEnd is TxUnknown.
type TxEnd uint8

// The ends of a transaction.
const (
	TxUnknown    TxEnd = iota // the commit may have happened: the record tells when the store answers again
	TxCommitted               // what the callback wrote is there, and so is the record
	TxRolledBack              // neither is, nor ever will be
)

var txEndNames = [...]string{"unknown", "committed", "rolled back"}

// String is the end in words.
func (e TxEnd) String() string {
	if int(e) < len(txEndNames) {
		return txEndNames[e]
	}
	return "invalid"
}

// AfterTx has f called once when the transaction that ctx's callback runs in has
// ended: before the delivery returns, in the order of the calls of AfterTx. The
// delivery waits for f, whose panic changes nothing and is logged.
//
// The token is the one with which the record says done exactly if the transaction
// is committed, which tells its end to whoever finds the record later. A key that
// [AlreadyDone] completes is done by another. When the process dies f is not
// called, whatever becomes of the transaction. Outside of a
// callback of [Guard.DeliverTx] the error is [ErrNoTransaction].
func AfterTx(ctx context.Context, f func(TxEnd)) (store.Token, error) {
	r := only(ctx)
	if r == nil || r.tx == nil || !r.tx.after(f) {
		return store.Token{}, ErrNoTransaction
	}
	return r.token, nil
}

// after adds f, unless the transaction has ended.
func (t *transaction) after(f func(TxEnd)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.ends = append(t.ends, f)
	return true
}

func (t *transaction) end() []func(TxEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	return t.ends
}

// tellEnd tells those who wait for it how the transaction ended. failure is the
// error of the callback, err what the store made of the transaction.
func (g *Guard) tellEnd(ctx context.Context, t *transaction, failure, err error) {
	end := TxUnknown
	switch {
	case failure != nil:
		end = TxRolledBack
	case err == nil:
		end = TxCommitted
	case store.ClassOf(err) == store.NotApplied:
		end = TxRolledBack
	}
	for _, f := range t.end() {
		if err := call(ctx, func(context.Context) error { f(end); return nil }); err != nil {
			g.log(ctx, slog.LevelError, func() (string, []slog.Attr) {
				return "dedup: what was to follow a transaction failed", []slog.Attr{
					slog.Any("error", err), slog.String("key", t.run.key.String()), slog.String("end", end.String()),
				}
			})
		}
	}
}
