package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Sharded keeps the records of several databases as one Store: each key has its
// record in the one that a function picks, such as where the business data of
// the key is. A database that is down holds up its own keys only. Make one with
// [NewSharded]. It is safe for concurrent use.
//
// The function and the order of the shards are part of the records: whoever
// changes either looks for them in another database, and keys that are done run
// again. Add a shard only so that no key moves, or when all records have expired.
type Sharded struct {
	pick   func(store.Key) int
	shards []*Store
}

var (
	_ store.Store     = (*Sharded)(nil)
	_ store.Renewer   = (*Sharded)(nil)
	_ store.Parker    = (*Sharded)(nil)
	_ store.Fencer    = (*Sharded)(nil)
	_ store.Batcher   = (*Sharded)(nil)
	_ store.Checker   = (*Sharded)(nil)
	_ store.Getter    = (*Sharded)(nil)
	_ store.Scanner   = (*Sharded)(nil)
	_ store.Forgetter = (*Sharded)(nil)
	_ store.Sweeper   = (*Sharded)(nil)
	_ store.Pulser    = (*Sharded)(nil)

	_ store.Transactor = (*Sharded)(nil)
)

// NewSharded returns a Store over the shards. pick returns the index of the
// shard of a key, as the caller gave it: from the key alone, always the same,
// and safe for concurrent use. A call of a key for which it returns another
// number, or panics, is refused with [store.ErrInvalid]. NewSharded does no I/O
// and reports everything that is wrong with its arguments at once.
func NewSharded(pick func(store.Key) int, shards ...*Store) (*Sharded, error) {
	var errs []error
	if pick == nil {
		errs = append(errs, errors.New("pick is nil"))
	}
	if len(shards) == 0 {
		errs = append(errs, errors.New("there are no shards"))
	}
	type place struct {
		db    *sql.DB
		table string
	}
	taken := map[place]int{}
	for i, s := range shards {
		if s == nil {
			errs = append(errs, fmt.Errorf("shard %d is nil", i))
			continue
		}
		at := place{s.db, s.options.Table}
		if first, found := taken[at]; found {
			errs = append(errs, fmt.Errorf("shard %d is over the pool and the table of shard %d, want another of either",
				i, first))
			continue
		}
		taken[at] = i
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("mysqlstore: sharded: %w", err)
	}
	return &Sharded{pick: pick, shards: append([]*Store(nil), shards...)}, nil
}

// shard is the index of the shard of k, for a call of that name.
func (s *Sharded) shard(op string, k store.Key) (int, error) {
	if err := k.Validate(); err != nil {
		return 0, fmt.Errorf("mysqlstore: %s: %w", op, err)
	}
	i, err := s.picked(k)
	if err == nil && (i < 0 || i >= len(s.shards)) {
		err = fmt.Errorf("returned %d for a key, want 0 to %d", i, len(s.shards)-1)
	}
	if err != nil {
		return 0, fmt.Errorf("mysqlstore: %s: %w: pick of NewSharded %w; correct it, the key has no record meanwhile",
			op, store.ErrInvalid, err)
	}
	return i, nil
}

// picked calls the caller's function.
func (s *Sharded) picked(k store.Key) (i int, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("panicked for a key: %w", r)
		default: // it may hold the key, which errors do not
			err = fmt.Errorf("panicked for a key with a value of type %T", r)
		}
	}()
	return s.pick(k), nil
}

// named has an error of a shard's server tell which.
func named(i int, err error) error {
	var failed *store.Error
	if !errors.As(err, &failed) {
		return err
	}
	copied := *failed
	copied.Err = fmt.Errorf("shard %d: %w", i, failed.Err)
	return &copied
}

// on makes a call about one key at its shard.
func (s *Sharded) on(op string, k store.Key, call func(*Store) error) error {
	i, err := s.shard(op, k)
	if err != nil {
		return err
	}
	return named(i, call(s.shards[i]))
}

// Claim asks for the right to run r.Key, at its shard.
func (s *Sharded) Claim(ctx context.Context, r store.ClaimRequest) (v store.Verdict, err error) {
	err = s.on("claim", r.Key, func(shard *Store) (err error) {
		v, err = shard.Claim(ctx, r)
		return err
	})
	return v, err
}

// Complete records at the shard of k that the effect of k happened.
func (s *Sharded) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (c store.Completion, err error) {
	err = s.on("complete", k, func(shard *Store) (err error) {
		c, err = shard.Complete(ctx, k, t, keep)
		return err
	})
	return c, err
}

// Release gives the claim back at the shard of k.
func (s *Sharded) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	return s.on("release", k, func(shard *Store) error { return shard.Release(ctx, k, t, ran) })
}

// Park takes the key out of circulation for keep, at its shard.
func (s *Sharded) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	return s.on("park", k, func(shard *Store) error { return shard.Park(ctx, k, t, keep) })
}

// Fence draws a number at the shard of k, above every earlier one of the record.
func (s *Sharded) Fence(ctx context.Context, k store.Key, t store.Token) (n int64, err error) {
	err = s.on("fence", k, func(shard *Store) (err error) {
		n, err = shard.Fence(ctx, k, t)
		return err
	})
	return n, err
}

// Transact is a transaction of the shard of r.Key, where do must find its tables.
func (s *Sharded) Transact(ctx context.Context, r store.TxRequest,
	do func(ctx context.Context, tx *sql.Tx, attempt int) error) (v store.Verdict, err error) {
	var failure error // of do, which is returned as it is
	err = s.on("transact", r.Key, func(shard *Store) (err error) {
		v, err = shard.Transact(ctx, r, func(ctx context.Context, tx *sql.Tx, attempt int) error {
			failure = do(ctx, tx, attempt)
			return failure
		})
		return err
	})
	if failure != nil {
		return v, failure
	}
	return v, err
}

// Get reads the record of k at its shard.
func (s *Sharded) Get(ctx context.Context, k store.Key) (r store.Record, err error) {
	err = s.on("get", k, func(shard *Store) (err error) {
		r, err = shard.Get(ctx, k)
		return err
	})
	return r, err
}

// Forget removes the record of k at its shard.
func (s *Sharded) Forget(ctx context.Context, k store.Key) error {
	return s.on("forget", k, func(shard *Store) error { return shard.Forget(ctx, k) })
}

// together has shards work side by side, and returns when all have.
func together(shards []int, work func(shard int)) {
	if len(shards) == 1 {
		work(shards[0])
		return
	}
	var all sync.WaitGroup
	for _, i := range shards {
		all.Go(func() { work(i) })
	}
	all.Wait()
}
