package mysqlstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// op is a method of the contract.
type op uint8

const (
	opClaim op = iota + 1
	opComplete
	opRelease
	opRenew
	opPark
	opFence
	opTransact // a record that says done from the start, in a transaction
)

var opNames = [...]string{opClaim: "claim", opComplete: "complete", opRelease: "release", opRenew: "renew",
	opPark: "park", opFence: "fence", opTransact: "transact"}

// call is one step of one record, and what came of it.
type call struct {
	op    op
	id    [sha256.Size]byte // of the key as it is stored
	parts store.Key         // as they are stored
	token store.Token
	place int // of the answer in the caller's list

	lease, horizon, keep int64 // in milliseconds; keep of a claim: of a park by it
	maxAttempts          int64
	ran                  bool // for a release

	verdict    store.Verdict
	completion store.Completion
	fence      int64
	err        error

	applied bool  // perhaps: a try failed in a way that leaves this open
	earlier error // of a try that was repeated, or nil
}

func (c *call) record() [sha256.Size]byte { return c.id }

func (s *Store) call(c *call, op op, k store.Key, t store.Token) {
	c.op, c.token = op, t
	c.parts, c.id = s.stored(k)
}

// claimOf makes c the claim of r.
func (s *Store) claimOf(c *call, r *store.ClaimRequest) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("mysqlstore: claim: %w", err)
	}
	s.call(c, opClaim, r.Key, r.Token)
	c.lease, c.horizon, c.keep = r.Lease.Milliseconds(), r.Horizon.Milliseconds(), r.ParkKeep.Milliseconds()
	c.maxAttempts = min(int64(r.MaxAttempts), math.MaxInt32) // what the column holds; nothing is tried more often
	return nil
}

// settlementOf makes c the complete or the release of t.
func (s *Store) settlementOf(c *call, t *store.Settlement) error {
	if t.Keep > 0 {
		return s.completeOf(c, t.Key, t.Token, t.Keep)
	}
	return s.releaseOf(c, t.Key, t.Token, t.Ran)
}

func (s *Store) completeOf(c *call, k store.Key, t store.Token, keep time.Duration) error {
	if err := store.ValidateKept(k, t, keep); err != nil {
		return fmt.Errorf("mysqlstore: complete: %w", err)
	}
	s.call(c, opComplete, k, t)
	c.keep = keep.Milliseconds()
	return nil
}

func (s *Store) releaseOf(c *call, k store.Key, t store.Token, ran bool) error {
	if err := s.ownedOf(c, opRelease, k, t); err != nil {
		return err
	}
	c.ran = ran
	return nil
}

// ownedOf makes c a step that only the owner may take.
func (s *Store) ownedOf(c *call, op op, k store.Key, t store.Token) error {
	if err := store.ValidateOwned(k, t); err != nil {
		return fmt.Errorf("mysqlstore: %s: %w", opNames[op], err)
	}
	s.call(c, op, k, t)
	return nil
}

// do makes one call together with those of other callers, and repeats it when
// that is worth it.
func (s *Store) do(ctx context.Context, c *call) {
	for try := 0; ; try++ {
		s.once(ctx, c)
		if !c.again() || try == s.options.Retries || !pause(ctx, try) {
			return
		}
	}
}

// once makes one try of a call that travels with others. The caller may leave
// before it is back, so what travels is a copy.
func (s *Store) once(ctx context.Context, c *call) {
	c.err = nil
	if err := ctx.Err(); err != nil {
		c.err = notSent{err}
		return
	}
	travelling := *c
	behind, err := s.line.Do(ctx, &travelling)
	switch {
	case err == nil:
		*c = travelling
	case behind == nil:
		c.err = notSent{err}
	default:
		c.err = err
	}
}

// doAll makes the calls of one caller together, apart from those of others.
func (s *Store) doAll(ctx context.Context, calls []*call) {
	for try := 0; len(calls) > 0; try++ {
		for _, c := range calls {
			c.err = nil
		}
		leave, err := s.gate.enter(ctx)
		if err != nil {
			fail(calls, notSent{err})
			return
		}
		s.exchange(ctx, calls)
		leave()
		calls = pick(calls, (*call).again)
		if len(calls) > 0 && (try == s.options.Retries || !pause(ctx, try)) {
			return
		}
	}
}

// again reports whether to repeat the call, after each try.
func (c *call) again() bool {
	if c.err == nil {
		return false
	}
	class, again := classify(c.err)
	c.applied = c.applied || class == store.Unknown
	if again {
		c.earlier = c.err
	}
	return again
}

// failure is the error of the call in the form that the contract asks for.
func (c *call) failure() error {
	if c.err == nil || c.err == store.ErrNotOwner {
		return c.err
	}
	class, _ := classify(c.err)
	if c.applied && class == store.NotApplied {
		class = store.Unknown
	}
	return &store.Error{Driver: "mysqlstore", Op: opNames[c.op], Class: class, Err: cause(c.err, c.earlier)}
}

func pick(calls []*call, want func(*call) bool) []*call {
	var picked []*call
	for _, c := range calls {
		if want(c) {
			picked = append(picked, c)
		}
	}
	return picked
}
