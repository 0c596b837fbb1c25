package mysqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// Store keeps the records in a table of MySQL or MariaDB. Make one with [New].
// It is safe for concurrent use and needs no closing; its pool does, after
// [Store.Wait] if nothing that is on its way may be cut off.
type Store struct {
	db         *sql.DB
	options    Options
	layout     *layout
	texts      texts
	line       *line.Line[[sha256.Size]byte, *call]
	background line.Activity
	gate       gate
	lone       [3]lone // by loneOf
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Renewer    = (*Store)(nil)
	_ store.Parker     = (*Store)(nil)
	_ store.Fencer     = (*Store)(nil)
	_ store.Batcher    = (*Store)(nil)
	_ store.Checker    = (*Store)(nil)
	_ store.Getter     = (*Store)(nil)
	_ store.Scanner    = (*Store)(nil)
	_ store.Forgetter  = (*Store)(nil)
	_ store.Sweeper    = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
	_ store.Pulser     = (*Store)(nil)
)

// New returns a Store over db, which stays the caller's, to close as well. It
// must be reserved for the store: a callback that holds the last connection of
// a pool would wait for itself. New does no I/O and reports everything that is
// wrong with o at once. The table is made by [Migrate]; use [Store.Check] to
// test the server and it.
func New(db *sql.DB, o Options) (*Store, error) {
	return open(db, o.withDefaults("dedup_record"), &native)
}

func open(db *sql.DB, o Options, l *layout) (*Store, error) {
	var missing error
	if db == nil {
		missing = errors.New("db is nil")
	}
	if err := errors.Join(missing, o.validate()); err != nil {
		return nil, fmt.Errorf("mysqlstore: %w", err)
	}
	s := &Store{db: db, options: o, layout: l, texts: l.texts("`" + o.Table + "`"), gate: make(gate, batches)}
	s.line = line.New(travel, &s.background, (*call).record, s.exchange)
	return s, nil
}

// overdue is when what is on its way, because somebody keeps a row locked, holds
// nobody up any more.
const overdue = 50 * time.Millisecond

// travel is how calls of different callers share statements. A commit takes
// about as long for many rows as for one. Calls about one record are kept apart:
// beside each other they would wait for its row, each on a connection.
var travel = line.Limits{
	MaxBusy: 2, Enough: 8,
	Overdue: overdue, MaxLate: 8,
	Grace: time.Second,
}

// Wait returns when no statement is on its way whose callers have gone: at most
// a second after the last call has returned, or after its deadline if it was
// cancelled. It returns the error of ctx when that ends first. Programs need it
// only to close the pool without cutting those off.
func (s *Store) Wait(ctx context.Context) error { return s.background.Wait(ctx) }

// compat reports whether the records are shared with the Java original.
func (s *Store) compat() bool { return s.layout != &native }

// stored is how the table has a key.
func (s *Store) stored(k store.Key) (parts store.Key, id [sha256.Size]byte) {
	parts = k.Bounded()
	if s.compat() {
		parts = javaParts(k)
	}
	return parts, sqlrecord.Hash(parts)
}

// beyond is how far expire_time of a claim is after its lease, in milliseconds.
func (s *Store) beyond(c *call) int64 {
	if s.compat() {
		return s.skewOf(c)
	}
	return c.horizon
}

// skewOf is what a record notes of Options.Skew.
func (s *Store) skewOf(c *call) int64 {
	if c.op == opClaim {
		return s.options.Skew.Milliseconds()
	}
	return 0
}

// Claim asks for the right to run r.Key. A record that somebody keeps locked for
// longer than the server waits is Busy.
func (s *Store) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	var c call
	if err := s.claimOf(&c, &r); err != nil {
		return store.Verdict{}, err
	}
	s.do(ctx, &c)
	return c.verdict, c.failure()
}

// Complete records that the effect of k happened, whatever the record says.
func (s *Store) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	var c call
	if err := s.completeOf(&c, k, t, keep); err != nil {
		return 0, err
	}
	s.do(ctx, &c)
	return c.completion, c.failure()
}

// Release gives the claim back and keeps its record for the claim's horizon.
func (s *Store) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	var c call
	if err := s.releaseOf(&c, k, t, ran); err != nil {
		return err
	}
	s.do(ctx, &c)
	return c.failure()
}

// Park takes the key out of circulation for keep.
func (s *Store) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) error {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return fmt.Errorf("mysqlstore: park: %w", err)
	}
	c := call{keep: keep.Milliseconds()}
	s.call(&c, opPark, k, t)
	s.do(ctx, &c)
	return c.failure()
}

// Fence draws a number above every earlier one of the record, and at least the
// server's time in milliseconds.
func (s *Store) Fence(ctx context.Context, k store.Key, t store.Token) (int64, error) {
	var c call
	if err := s.ownedOf(&c, opFence, k, t); err != nil {
		return 0, err
	}
	s.do(ctx, &c)
	return c.fence, c.failure()
}

// Renew starts the stored lease of each claim anew, in one statement and one
// look at what became of it.
func (s *Store) Renew(ctx context.Context, claims []store.Claim) []error {
	errs := make([]error, len(claims))
	calls := batch(len(claims), func(c *call, i int) error {
		errs[i] = s.ownedOf(c, opRenew, claims[i].Key, claims[i].Token)
		return errs[i]
	})
	s.doAll(ctx, calls)
	for _, c := range calls {
		errs[c.place] = c.failure()
	}
	return errs
}
