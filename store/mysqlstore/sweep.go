package mysqlstore

import (
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

// Sweep removes up to limit expired records, the longest expired of each status
// first, in statements of up to 128. It returns 0 while another connection sweeps
// this table.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("mysqlstore: sweep: %w: limit is %d, want 1 or more", store.ErrInvalid, limit)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, s.failed("sweep", noConn(err))
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
	for _, status := range s.layout.sweeps {
		n, err := s.sweepStatus(ctx, conn, status, limit-removed)
		if removed += n; err != nil {
			return removed, s.failed("sweep", err)
		}
	}
	return removed, nil
}

// sweepStatus removes up to limit records that meet a condition on status.
func (s *Store) sweepStatus(ctx context.Context, conn *sql.Conn, status string, limit int) (removed int, err error) {
	for removed < limit {
		n := min(limit-removed, largest)
		stale, err := s.stale(ctx, conn, status, n)
		if err != nil || len(stale) == 0 {
			return removed, err
		}
		cut := s.texts.sweep
		result, err := execute(ctx, conn, string(append(s.appendKeys([]byte(cut[0]), stale), cut[1]...)))
		if err != nil {
			return removed, err
		}
		gone, err := result.RowsAffected()
		if removed += int(gone); err != nil || len(stale) < n {
			return removed, err
		}
	}
	return removed, nil
}

// stale finds expired records, in the order of their keys.
func (s *Store) stale(ctx context.Context, conn *sql.Conn, status string, limit int) ([]*call, error) {
	cut := s.texts.stale
	rows, err := conn.QueryContext(ctx, cut[0]+status+cut[1]+strconv.Itoa(limit)+cut[2])
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err has what matters
	var found []*call
	for rows.Next() {
		names := make([]string, s.layout.keys)
		targets := make([]any, len(names))
		for i := range names {
			targets[i] = &names[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		c := &call{}
		if s.compat() {
			c.parts = store.Key{Application: names[0], Topic: names[1], Tag: names[2], ID: names[3]}
		} else {
			copy(c.id[:], names[0])
		}
		found = append(found, c)
	}
	slices.SortFunc(found, s.order)
	return found, rows.Err()
}
