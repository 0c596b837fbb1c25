package mysqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Scan lists the records of one shard after another. A page holds records of
// one shard only.
func (s *Sharded) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	i := 0
	if q.After != "" {
		index, after, found := strings.Cut(q.After, "/")
		n, err := strconv.Atoi(index)
		if !found || err != nil || n < 0 || n >= len(s.shards) {
			return store.Page{}, fmt.Errorf("mysqlstore: scan: %w: Query.After is not the Next of a page of these shards",
				store.ErrInvalid)
		}
		i, q.After = n, after
	}
	page, err := s.shards[i].Scan(ctx, q)
	switch {
	case err != nil:
		return store.Page{}, named(i, err)
	case page.Next != "":
		page.Next = strconv.Itoa(i) + "/" + page.Next
	case i+1 < len(s.shards):
		page.Next = strconv.Itoa(i+1) + "/"
	}
	return page, nil
}

// Sweep removes up to limit expired records of all shards together, the longest
// expired of each first. Shards work side by side, and those that have more
// take over what others left of the limit. The error tells which shards failed;
// the others have done their part.
func (s *Sharded) Sweep(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("mysqlstore: sweep: %w: limit is %d, want 1 or more", store.ErrInvalid, limit)
	}
	var errs []error
	removed := 0
	for shards := rand.Perm(len(s.shards)); removed < limit && len(shards) > 0; {
		n := min(len(shards), limit-removed)
		turn, more := shards[:n], slices.Clone(shards[n:])
		share := (limit - removed) / n
		var mu sync.Mutex // guards errs, removed and more
		together(turn, func(i int) {
			n, err := s.shards[i].Sweep(ctx, share)
			mu.Lock()
			defer mu.Unlock()
			removed += n
			if err != nil {
				errs = append(errs, named(i, err))
			} else if n == share {
				more = append(more, i)
			}
		})
		shards = more
	}
	return removed, errors.Join(errs...)
}

// Migrate makes or mends the tables of all shards side by side. One that fails
// does not keep the others from it. It may be repeated.
func (s *Sharded) Migrate(ctx context.Context) error {
	return s.all(func(shard *Store) error { return shard.Migrate(ctx) })
}

// Check looks at all shards side by side. Each finding names its shard.
func (s *Sharded) Check(ctx context.Context) error {
	return s.all(func(shard *Store) error { return shard.Check(ctx) })
}

// Wait returns when no statement is on its way to any shard whose callers have
// gone; see [Store.Wait].
func (s *Sharded) Wait(ctx context.Context) error {
	return s.all(func(shard *Store) error { return shard.Wait(ctx) })
}

// all does the same at all shards, and joins their errors in their order.
func (s *Sharded) all(do func(*Store) error) error {
	return s.numbered(func(_ int, shard *Store) error { return do(shard) })
}

func (s *Sharded) numbered(do func(i int, shard *Store) error) error {
	errs, shards := make([]error, len(s.shards)), make([]int, len(s.shards))
	for i := range shards {
		shards[i] = i
	}
	together(shards, func(i int) { errs[i] = located(i, do(i, s.shards[i])) })
	return errors.Join(errs...)
}

// located has each of the errors joined in err, findings above all, name the
// shard.
func located(i int, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Finding:
		return &Finding{fmt.Sprintf("shard %d: %s", i, e.Field), e.Problem, e.Remedy}
	case *store.Error:
		return named(i, err)
	case interface{ Unwrap() []error }:
		var errs []error
		for _, joined := range e.Unwrap() {
			errs = append(errs, located(i, joined))
		}
		return errors.Join(errs...)
	}
	return fmt.Errorf("mysqlstore: shard %d: %w", i, err)
}
