package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
)

// owner is one claim: a record and a token.
type owner struct{ name, token string }

// leftClaims are the claims whose callers have gone while they were on the wire.
// Such a claim may arrive at any time until its group is back. What its owner
// asks for next, to claim again or to release, therefore waits for that: a
// release would otherwise overtake the claim and leave the key to a lease that
// nobody holds, and of two copies of a claim one could arrive after the release.
type leftClaims struct {
	count atomic.Int64 // of byOwner, so that nobody takes the lock in vain

	mu      sync.Mutex // guards byOwner and what is in it
	byOwner map[owner]*leftClaim
}

type leftClaim struct {
	copies  int           // on the wire
	back    chan struct{} // closed when there are none any more
	release *call         // that its owner could not wait for, or nil
}

// leave notes a claim that is left behind.
func (l *leftClaims) leave(o owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	claim := l.byOwner[o]
	if claim == nil {
		if l.byOwner == nil {
			l.byOwner = map[owner]*leftClaim{}
		}
		claim = &leftClaim{back: make(chan struct{})}
		l.byOwner[o] = claim
		l.count.Add(1)
	}
	claim.copies++
}

// back notes that a claim is back. It returns the release that is due then.
func (l *leftClaims) back(o owner) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	claim := l.byOwner[o]
	if claim.copies--; claim.copies > 0 {
		return nil
	}
	delete(l.byOwner, o)
	l.count.Add(-1)
	close(claim.back)
	return claim.release
}

// hold parts the calls into those that may be sent and those that must wait.
func (l *leftClaims) hold(calls []*call) (free, held []*call) {
	if l.count.Load() == 0 {
		return calls, nil
	}
	for _, c := range calls {
		if l.of(c) != nil {
			held = append(held, c)
		} else {
			free = append(free, c)
		}
	}
	return free, held
}

// of returns the claim that c must wait for, or nil.
func (l *leftClaims) of(c *call) *leftClaim {
	if c.script != claimScript && c.script != releaseScript {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byOwner[owner{c.name, c.token}]
}

// wait waits until no claim of the call's owner is on the wire. When ctx ends
// first a release is kept, to be sent then.
func (l *leftClaims) wait(ctx context.Context, c *call) error {
	claim := l.of(c)
	if claim == nil {
		return nil
	}
	select {
	case <-claim.back:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byOwner[owner{c.name, c.token}] == claim && c.script == releaseScript {
		later := *c // the caller goes on to read its own
		claim.release = &later
	}
	return ctx.Err()
}
