package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// sweepStep is how many rows a sweep removes in one transaction, so that claims
// get in between.
const sweepStep = 500

// Sweep removes up to limit expired records, in transactions of a few hundred.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, invalid("sweep", fmt.Errorf("%w: limit is %d, want 1 or more", store.ErrInvalid, limit))
	}
	removed := 0
	for removed < limit {
		n, most := new(int), min(sweepStep, limit-removed)
		err := s.line.do(ctx, &call{op: "sweep", alone: func(w *writer, now int64) (changed bool, err error) {
			*n, err = w.sweep(s.options.Table, now, most)
			return *n > 0, err
		}})
		if err != nil {
			return removed, err
		}
		if removed += *n; *n < most {
			break
		}
	}
	return removed, nil
}

// statusesQuery takes one step in the index for each status there is.
const statusesQuery = `
	WITH RECURSIVE words(word) AS (
		SELECT min(status) FROM dedup_record
		UNION ALL
		SELECT (SELECT min(status) FROM dedup_record WHERE status > word) FROM words WHERE word IS NOT NULL
	)
	SELECT word FROM words WHERE word IS NOT NULL`

// expiredQuery finds those of one status in the order of the index.
const expiredQuery = `
	SELECT key_hash, expire_time FROM dedup_record
	WHERE status = ? AND expire_time <= ? ORDER BY expire_time LIMIT ?`

// expired is a row to be removed.
type expired struct {
	hash []byte
	time int64
}

// sweep removes the rows that expired first, whatever their status says.
func (w *writer) sweep(table string, now int64, limit int) (int, error) {
	statuses, err := collect(w.conn, func(rows *sql.Rows) (status any, err error) {
		return status, rows.Scan(&status)
	}, named(statusesQuery, table))
	if err != nil {
		return 0, err
	}
	var all []expired
	for _, status := range statuses {
		some, err := collect(w.conn, func(rows *sql.Rows) (e expired, err error) {
			return e, rows.Scan(&e.hash, &e.time)
		}, named(expiredQuery, table), status, now, limit)
		if err != nil {
			return 0, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b expired) int { return cmp.Compare(a.time, b.time) })
	all = all[:min(limit, len(all))]
	for _, e := range all {
		if _, err := w.deleteRow.Exec(e.hash); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// collect reads all rows of a query.
func collect[T any](c *sql.Conn, read func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := c.QueryContext(context.Background(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
