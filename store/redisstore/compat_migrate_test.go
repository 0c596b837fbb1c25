package redisstore_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// maxShift is how far a migration may move the two expiries of a claim apart, in
// milliseconds, before it is taken for one of the original's. It is SKEW of compat.lua.
const maxShift = 10

// The two keys of a record move one after the other. Until both have, calls are
// refused; then the claim is its owner's as before, unless the machine took so long
// that the expiries tell another story.
func TestSharedClaimsSurviveTheMoveOfTheirSlot(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, c.Addrs()[0], nil)
	s, m := openCompat(t, client), newMover(t, c)
	for survived := 0; survived < 5; {
		k, a := newKey(), store.NewToken()
		claims(t, s, request(k, a), 1)
		slot := slotOf(companionName(k))
		from := 0
		if slot >= 8192 {
			from = 1
		}
		renew := func() error { return s.Renew(within(t, ample), []store.Claim{{Key: k, Token: a}})[0] }

		m.begin(from, 1-from, slot)
		if err := renew(); err != nil {
			t.Errorf("before the first key has moved: %v", err)
		}
		m.moveKey(from, 1-from, compatName(k))
		if err := renew(); store.ClassOf(err) != store.NotApplied || errors.Is(err, store.ErrNotOwner) {
			t.Errorf("when one key has moved: got %v, want a refusal that permits a repeat", err)
		}
		m.moveKey(from, 1-from, companionName(k))
		if shift := m.shift(1-from, k); max(shift, -shift) > maxShift-2 { // the server reads its clock several times
			if err := renew(); max(shift, -shift) > maxShift+2 && !errors.Is(err, store.ErrNotOwner) {
				t.Errorf("when the expiries are %d ms too far apart: got %v, want not the owner", shift, err)
			}
			m.end(from, 1-from, slot)
			continue
		}
		survived++
		if err := renew(); err != nil {
			t.Errorf("when both keys have moved: %v", err)
		}
		m.end(from, 1-from, slot)
		if err := renew(); err != nil {
			t.Errorf("when the slot has moved: %v", err)
		}
		if got, err := s.Complete(within(t, ample), k, a, time.Hour); err != nil || got != store.Completed {
			t.Errorf("complete: got %v, %v, want completed", got, err)
		}
	}
}

// shift is how much further apart than the claim of k wants its two keys expire on
// a node to which their slot moves, in milliseconds.
func (m *mover) shift(node int, k store.Key) int64 {
	m.t.Helper()
	var ends [2]int64
	for i, name := range []string{compatName(k), companionName(k)} {
		pipe := m.nodes[node].Pipeline()
		pipe.Do(m.ctx, "asking")
		end := pipe.Do(m.ctx, "pexpiretime", name)
		if _, err := pipe.Exec(m.ctx); err != nil {
			m.t.Fatalf("expiry of %s: %v", name, err)
		}
		ends[i], _ = end.Int64() // an integer, or Exec would have failed
	}
	return ends[1] - ends[0] - request(k, store.Token{}).Horizon.Milliseconds()
}

func (m *mover) moveKey(from, to int, name string) {
	m.t.Helper()
	host, port, _ := net.SplitHostPort(m.nodes[to].Options().Addr)
	if err := m.nodes[from].Do(m.ctx, "migrate", host, port, name, 0, 5000).Err(); err != nil {
		m.t.Fatalf("migrate %s: %v", name, err)
	}
}
