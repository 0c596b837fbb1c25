package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
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
	background activity
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Renewer = (*Store)(nil)
	_ store.Parker  = (*Store)(nil)
	_ store.Fencer  = (*Store)(nil)
	_ store.Batcher = (*Store)(nil)
	_ store.Checker = (*Store)(nil)
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
	s.lines.one.s = s
	return s, nil
}

// states are the verdicts of lua/claim.lua; its 0 is not one.
var states = [...]store.State{
	1: store.Claimed, 2: store.Busy, 3: store.Done, 4: store.Parked, 5: store.Corrupt,
}

// Claim asks for the right to run r.Key. A record of a foreign type is Corrupt.
func (s *Store) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	c, err := s.claim(r)
	if err != nil {
		return store.Verdict{}, err
	}
	s.do(ctx, []*call{c})
	return verdict(c.result())
}

func (s *Store) claim(r store.ClaimRequest) (*call, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: claim: %w", err)
	}
	name, lease, horizon := s.name(r.Key), r.Lease.Milliseconds(), r.Horizon.Milliseconds()
	set := fastClaim(name, r.Token, lease, horizon)
	return &call{
		op: "claim", script: claimScript, name: name, token: tokenIn(set), set: set, judge: judgeClaim,
		numbers: [4]int64{lease, horizon, int64(r.MaxAttempts), r.ParkKeep.Milliseconds()},
	}, nil
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
	c, err := s.complete(k, t, keep)
	if err != nil {
		return 0, err
	}
	s.do(ctx, []*call{c})
	s.prolong(ctx, []*call{c})
	return completion(c.result())
}

func (s *Store) complete(k store.Key, t store.Token, keep time.Duration) (*call, error) {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return nil, fmt.Errorf("redisstore: complete: %w", err)
	}
	name, ms := s.name(k), keep.Milliseconds()
	set := fastComplete(name, t, ms)
	return &call{
		op: "complete", script: completeScript, name: name, token: tokenIn(set), set: set, judge: judgeComplete,
		numbers: [4]int64{ms},
	}, nil
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
	c, err := s.release(k, t, ran)
	if err != nil {
		return err
	}
	s.do(ctx, []*call{c})
	return owned(c.result())
}

func (s *Store) release(k store.Key, t store.Token, ran bool) (*call, error) {
	if err := store.ValidateOwned(k, t); err != nil {
		return nil, fmt.Errorf("redisstore: release: %w", err)
	}
	c := &call{op: "release", script: releaseScript, name: s.name(k), token: t.String()}
	if ran {
		c.numbers[0] = 1
	}
	return c, nil
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

// name is the record's name. The braces make the whole key its hash tag, so
// that a cluster spreads records evenly whatever the key contains.
func (s *Store) name(k store.Key) string {
	if s.compat {
		return compatName(k)
	}
	b := make([]byte, 0, 128)
	b = append(b, s.options.Prefix...)
	b = append(b, '{')
	b = k.AppendName(b)
	return string(append(b, '}'))
}
