package redisstore_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// commandsOn returns what the server executed on the record of k, in order.
func commandsOn(log []string, k store.Key) string {
	var on []string
	for _, entry := range log {
		if verb, name, _ := strings.Cut(entry, " "); name == recordName(k) {
			on = append(on, verb)
		}
	}
	return strings.Join(on, " ")
}

// leftBehind returns a claim that its caller has left on the wire, in a group on
// a frozen connection.
func leftBehind(t *testing.T, p *puppet, s *redisstore.Store) (store.Key, store.Token) {
	t.Helper()
	p.freeze(2)
	ended := claimsAtOnce(s, 2, 50*time.Millisecond)
	left := ended()[1]
	wantFailure(t, left.err, store.Unknown, "deadline")
	return left.key, left.token
}

func TestAReleaseDoesNotOvertakeItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		k, a := leftBehind(t, p, s)
		time.AfterFunc(100*time.Millisecond, p.thaw)
		if err := s.Release(within(t, ample), k, a, false); err != nil {
			t.Errorf("release: %v", err)
		}
		if got := commandsOn(p.took(), k); got != "set script" {
			t.Errorf("the server executed %q, want the claim and then the release", got)
		}
	})
}

func TestAReleaseIsSentWhenItsClaimIsBackThoughItsCallerHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		k, a := leftBehind(t, p, s)
		began := time.Now()
		err := s.Release(within(t, 50*time.Millisecond), k, a, false)
		wantFailure(t, err, store.Unknown, "deadline")
		if took := time.Since(began); took != 50*time.Millisecond {
			t.Errorf("release: took %v, want 50ms", took)
		}
		p.thaw()
		if err := s.Wait(within(t, ample)); err != nil {
			t.Fatal(err)
		}
		if got := commandsOn(p.took(), k); got != "set script" {
			t.Errorf("the server executed %q, want the claim and then the release", got)
		}
	})
}

func TestAClaimIsNotRepeatedWhileItIsOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		k, a := leftBehind(t, p, s)
		_, err := s.Claim(within(t, 50*time.Millisecond), request(k, a))
		wantFailure(t, err, store.Unknown, "deadline")
		time.AfterFunc(100*time.Millisecond, p.thaw)
		claims(t, s, request(k, a), 1) // the puppet's script says so
		if got := commandsOn(p.took(), k); got != "set set script" {
			t.Errorf("the server executed %q, want the claim, its repeat and the repeat's script", got)
		}
	})
}

func TestOtherOwnersDoNotWaitForAClaimThatWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		k, _ := leftBehind(t, p, s)
		began := time.Now()
		_, err := s.Claim(within(t, ample), request(k, store.NewToken()))
		if took := time.Since(began); err != nil || took > 20*time.Millisecond {
			t.Errorf("claim by another: got %v after %v, want an answer at once", err, took)
		}
	})
}

func TestABatchWaitsForItsClaimsThatWereLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		k, a := leftBehind(t, p, s)
		requests := append(batch(1), request(k, a))
		got := s.ClaimBatch(within(t, 50*time.Millisecond), requests)
		wantFailure(t, got[1].Err, store.Unknown, "deadline")
		if got[0].Verdict.State != store.Claimed {
			t.Errorf("got %+v for the other claim, want claimed", got[0])
		}
		if log := p.took(); slices.Contains(log, "script "+recordName(k)) {
			t.Errorf("the server executed %q", log)
		}
	})
}
