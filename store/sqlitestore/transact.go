package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

var _ store.Transactor = (*Store)(nil)

// Transact runs do in a transaction that the record is part of. The user's tables
// must be in the same database. SQLite has one writer at a time: while do runs all
// other calls that write wait, each for BusyTimeout at most, so do must be brief.
func (s *Store) Transact(ctx context.Context, r store.TxRequest,
	do func(ctx context.Context, tx *sql.Tx, attempt int) error) (store.Verdict, error) {
	if err := invalid("transact", r.Validate()); err != nil {
		return store.Verdict{}, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Verdict{}, failed("transact", classify(err), err)
	}
	defer tx.Rollback() // does nothing after the commit
	x := &transaction{s, tx, stepOf(r.Key, nil), r.Token}
	v, err := x.claim(ctx)
	if err != nil || v.State != store.Claimed {
		return v, err
	}
	if err := do(ctx, tx, v.Attempt); err != nil {
		return v, err
	}
	if err := x.complete(ctx, r.Keep); err != nil {
		return v, err
	}
	return v, x.commit(ctx)
}

// transaction is one that the record of a key is part of.
type transaction struct {
	store *Store
	tx    *sql.Tx
	step  step // the key and its hash
	token store.Token
}

// claim takes the lock of the writer and then claims.
func (x *transaction) claim(ctx context.Context) (store.Verdict, error) {
	err := x.store.patiently(ctx, func() error {
		_, err := x.tx.ExecContext(ctx, x.store.named(`DELETE FROM dedup_record WHERE key_hash = x''`))
		return err
	})
	if err != nil {
		return store.Verdict{}, failed("transact", classify(err), err)
	}
	row, found, err := x.read(ctx)
	if err != nil {
		return store.Verdict{}, failed("transact", classify(err), err)
	}
	const unseen = time.Minute // nobody ever sees the claim
	changed, v, err := row.Claim(store.ClaimRequest{Key: x.step.key, Token: x.token, Lease: unseen, Horizon: unseen},
		time.Now().UnixMilli())
	if err != nil || v.State != store.Claimed || !changed {
		return v, err
	}
	if err := x.write(ctx, &row, found); err != nil {
		return store.Verdict{}, failed("transact", classify(err), err)
	}
	return v, nil
}

// errUndone is a transaction whose record has gone.
var errUndone = errors.New("SQLite has undone the transaction while the callback ran, which did not return that error")

// complete has the record say done. If the claim is not there any more, what the
// callback has written before is not, either.
func (x *transaction) complete(ctx context.Context, keep time.Duration) error {
	row, found, err := x.read(ctx)
	if err == nil && (!found || row.Status != sqlrecord.Consuming || row.Owner != x.token) {
		return failed("transact", store.NotApplied, errUndone)
	}
	if err == nil {
		row.Complete(x.token, keep, time.Now().UnixMilli())
		err = x.write(ctx, &row, found)
	}
	if err != nil {
		return failed("transact", classify(err), err)
	}
	return nil
}

// commit commits, and looks for the record when SQLite cannot tell whether it has.
func (x *transaction) commit(ctx context.Context) error {
	err := x.tx.Commit()
	if err == nil {
		return nil
	}
	class := classifyCommit(err)
	if class == store.Unknown {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.store.options.BusyTimeout)
		defer cancel()
		var v values
		errRead := x.store.db.QueryRowContext(ctx, x.store.named(findQuery), x.step.hash[:]).Scan(v.targets()...)
		row := v.row()
		switch {
		case errRead == nil && row.Status == sqlrecord.Consumed && row.Owner == x.token:
			return nil
		case errRead == nil, errors.Is(errRead, sql.ErrNoRows):
			class = store.NotApplied
		}
	}
	return failed("transact", class, err)
}

// read returns the row of the key, a zero one if there is none.
func (x *transaction) read(ctx context.Context) (row sqlrecord.Row, found bool, err error) {
	var v values
	err = x.tx.QueryRowContext(ctx, x.store.named(findQuery), x.step.hash[:]).Scan(v.targets()...)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	return v.row(), true, nil
}

func (x *transaction) write(ctx context.Context, row *sqlrecord.Row, found bool) error {
	text, args := insertQuery, arguments(row)
	args = append(args, x.step.hash[:])
	if found {
		text = updateQuery
	} else {
		k := &x.step.key
		args = append(args, []byte(k.Application), []byte(k.Topic), []byte(k.Tag), []byte(k.ID))
	}
	_, err := x.tx.ExecContext(ctx, x.store.named(text), args...)
	return err
}
