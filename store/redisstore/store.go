package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
)

// Store keeps the records in Redis. Make one with [New]. It is safe for
// concurrent use and needs no closing; its client does, after [Store.Wait] if
// nothing that is on its way may be cut off.
type Store struct {
	client  redis.UniversalClient
	options Options
	limits  limits
	compat  bool // records are shared with the Java original

	noFlags atomic.Bool  // the server knows no script flags; found out by running one
	fast    atomic.Int32 // what is known of the fast path

	lines      lines
	left       leftClaims
	scans      scans
	background line.Activity
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Renewer   = (*Store)(nil)
	_ store.Parker    = (*Store)(nil)
	_ store.Fencer    = (*Store)(nil)
	_ store.Batcher   = (*Store)(nil)
	_ store.Pulser    = (*Store)(nil)
	_ store.Checker   = (*Store)(nil)
	_ store.Getter    = (*Store)(nil)
	_ store.Forgetter = (*Store)(nil)
	_ store.Scanner   = (*Store)(nil)
)

// New returns a Store over client, which stays the caller's: to share, to hook
// and to close. It does no I/O and reports everything that is wrong with client
// and o at once. Use [Store.Check] to test the server.
func New(client redis.UniversalClient, o Options) (*Store, error) {
	o = o.withDefaults()
	l, err := limitsOf(client)
	if err == nil {
		err = l.validate(o.MinLease)
	}
	if err := errors.Join(err, o.validate()); err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	s := &Store{client: client, options: o, limits: l}
	s.lines.one = s.newLine()
	return s, nil
}

// states are the verdicts of lua/claim.lua; its 0 is not one.
var states = [...]store.State{
	1: store.Claimed, 2: store.Busy, 3: store.Done, 4: store.Parked, 5: store.Corrupt,
}

// Claim asks for the right to run r.Key. A record of a foreign type is Corrupt.
func (s *Store) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	var c call
	if err := s.claim(&c, &r); err != nil {
		return store.Verdict{}, err
	}
	s.do(ctx, []*call{&c})
	return verdict(c.result())
}

// claim makes c the claim of r.
func (s *Store) claim(c *call, r *store.ClaimRequest) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("redisstore: claim: %w", err)
	}
	lease, horizon := r.Lease.Milliseconds(), r.Horizon.Milliseconds()
	var text [textSize]byte
	name := s.appendName(text[:0], r.Key)
	value := c.address(name, appendClaim(name, r.Token, lease, horizon))
	c.op, c.script, c.token = "claim", claimScript, tokenOf(value)
	c.numbers = [4]int64{lease, horizon, int64(r.MaxAttempts), r.ParkKeep.Milliseconds()}
	c.set, c.judge = fastClaim(c.args[:0], c.name, value, lease, horizon), judgeClaim
	return nil
}

// verdict reads the answer to a claim.
func verdict(answer []int64, err error) (store.Verdict, error) {
	switch {
	case errorCode(err) == "WRONGTYPE":
		return store.Verdict{State: store.Corrupt}, nil
	case err != nil:
		return store.Verdict{}, err
	case answer[0] == 0:
		return store.Verdict{}, store.ErrNotOwner
	}
	v := store.Verdict{State: at(states[:], answer[0]), Rearmed: answer[2] == 1}
	switch v.State {
	case store.Claimed:
		v.Attempt = int(answer[1])
	case store.Busy:
		v.Left = time.Duration(answer[1]) * time.Millisecond
	}
	return v, nil
}

// completions are the results of lua/complete.lua.
var completions = [...]store.Completion{
	1: store.Completed, 2: store.AlreadyDone, 3: store.Late, 4: store.Recreated, 5: store.Repaired,
}

// Complete records that the effect of k happened. It repairs a string that is
// no record; a value of a foreign type is left alone and a Permanent error. On
// Redis 7.0 and later it also succeeds when the server's memory is full.
func (s *Store) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	var c call
	if err := s.complete(&c, k, t, keep); err != nil {
		return 0, err
	}
	calls := []*call{&c}
	s.do(ctx, calls)
	s.prolong(ctx, calls)
	return completion(c.result())
}

// complete makes c the complete of k.
func (s *Store) complete(c *call, k store.Key, t store.Token, keep time.Duration) error {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return fmt.Errorf("redisstore: complete: %w", err)
	}
	ms := keep.Milliseconds()
	var text [textSize]byte
	name := s.appendName(text[:0], k)
	value := c.address(name, appendDone(name, t, ms))
	c.op, c.script, c.token = "complete", completeScript, tokenOf(value)
	c.numbers[0] = ms
	c.set, c.judge = fastComplete(c.args[:0], c.name, value, ms), judgeComplete
	return nil
}

// completion reads the answer to a complete.
func completion(answer []int64, err error) (store.Completion, error) {
	if err != nil {
		return 0, err
	}
	return at(completions[:], answer[0]), nil
}

// Release gives the claim back and keeps its record for the claim's horizon.
func (s *Store) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	var c call
	if err := s.release(&c, k, t, ran); err != nil {
		return err
	}
	s.do(ctx, []*call{&c})
	return owned(c.result())
}

// release makes c the release of k.
func (s *Store) release(c *call, k store.Key, t store.Token, ran bool) error {
	if err := store.ValidateOwned(k, t); err != nil {
		return fmt.Errorf("redisstore: release: %w", err)
	}
	c.op, c.script, c.name, c.token = "release", releaseScript, s.name(k), t.String()
	if ran {
		c.numbers[0] = 1
	}
	return nil
}

// at is list[i], or the zero value, which means "deliver again", when a script
// has answered what it never should.
func at[T any](list []T, i int64) (value T) {
	if 0 <= i && i < int64(len(list)) {
		value = list[i]
	}
	return value
}

// owned turns the answer 0 of a script that acts for the owner into an error.
func owned(answer []int64, err error) error {
	if err == nil && answer[0] == 0 {
		return store.ErrNotOwner
	}
	return err
}

// textSize is room for a record's name and value of a usual length.
const textSize = 256
