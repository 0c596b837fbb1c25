package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// Get returns the record of k. An expiry that was lost shows as the one that
// the next step would give.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Record, error) {
	if err := invalid("get", k.Validate()); err != nil {
		return store.Record{}, err
	}
	bounded := k.Bounded()
	h := sqlrecord.Hash(bounded)
	var v values
	err := s.db.QueryRowContext(ctx, s.named(findQuery), h[:]).
		Scan(v.targets()...)
	row, now := v.row(), time.Now().UnixMilli()
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && row.Absent(now):
		return store.Record{}, store.ErrNoRecord
	case err != nil:
		return store.Record{}, failed("get", classify(err), err)
	}
	return recordOf(bounded, &row, now), nil
}

func recordOf(bounded store.Key, row *sqlrecord.Row, now int64) store.Record {
	r := row.Record(now)
	r.Key, r.Hashed = bounded.Unbounded()
	return r
}

// Forget removes the record of k.
func (s *Store) Forget(ctx context.Context, k store.Key) error {
	if err := invalid("forget", k.Validate()); err != nil {
		return err
	}
	return s.one(ctx, "forget", k, func(row *sqlrecord.Row, now int64) (bool, error) {
		switch {
		case row.Absent(now):
			return false, store.ErrNoRecord
		case row.InFlight(now):
			return false, store.ErrInFlight
		}
		*row = sqlrecord.Row{}
		return true, nil
	})
}
