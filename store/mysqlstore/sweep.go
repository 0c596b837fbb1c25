package mysqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// errLocked says that another connection holds the lock.
var errLocked = errors.New("another instance is at it, for longer than this one waited")

// grace is how long this package tries to tidy up after a context's end.
const grace = time.Second

// Sweep removes up to limit expired records, the longest expired first, in
// statements of up to 128. It returns 0 while another connection sweeps
// this table.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("mysqlstore: sweep: %w: limit is %d, want 1 or more", store.ErrInvalid, limit)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, s.failed("sweep", s.noConn(err))
	}
	defer conn.Close() // gives it back to the pool
	release, err := s.lock(ctx, conn, "sweep", 0)
	switch {
	case errors.Is(err, errLocked):
		return 0, nil
	case err != nil:
		return 0, s.failed("sweep", err)
	}
	defer release()
	removed := 0
	for removed < limit {
		n := min(limit-removed, largest)
		gone, found, err := s.sweepStep(ctx, conn, n)
		if removed += gone; err != nil {
			return removed, s.failed("sweep", err)
		}
		if found < n {
			break
		}
	}
	return removed, nil
}

// sweepStep removes up to n records, and tells how many it found.
func (s *Store) sweepStep(ctx context.Context, conn *sql.Conn, n int) (removed, found int, err error) {
	var all []expired
	for _, status := range s.layout.sweeps {
		of, err := s.stale(ctx, conn, status, n)
		if err != nil {
			return 0, 0, err
		}
		all = append(all, of...)
	}
	if len(all) == 0 {
		return 0, 0, nil
	}
	slices.SortStableFunc(all, func(a, b expired) int { return cmp.Compare(a.at, b.at) })
	all = all[:min(n, len(all))]
	calls := make([]*call, len(all))
	for i, e := range all {
		calls[i] = e.call
	}
	slices.SortFunc(calls, s.order)
	cut := s.texts.sweep
	result, err := execute(ctx, conn, string(append(s.appendKeys([]byte(cut[0]), calls), cut[1]...)))
	if err != nil {
		return 0, 0, err
	}
	gone, err := result.RowsAffected()
	return int(gone), len(all), err
}

// expired is a record that counts as absent.
type expired struct {
	call *call // with its key
	at   int64 // expire_time
}

// stale finds expired records that meet a condition on status.
func (s *Store) stale(ctx context.Context, conn *sql.Conn, status string, limit int) ([]expired, error) {
	cut := s.texts.stale
	rows, err := conn.QueryContext(ctx, cut[0]+status+cut[1]+strconv.Itoa(limit)+cut[2])
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err has what matters
	var found []expired
	for rows.Next() {
		names := make([]string, s.layout.keys)
		e := expired{call: &call{}}
		var targets []any
		for i := range names {
			targets = append(targets, &names[i])
		}
		targets = append(targets, &e.at)
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if s.compat() {
			e.call.parts = store.Key{Application: names[0], Topic: names[1], Tag: names[2], ID: names[3]}
		} else {
			copy(e.call.id[:], names[0])
		}
		found = append(found, e)
	}
	return found, rows.Err()
}
