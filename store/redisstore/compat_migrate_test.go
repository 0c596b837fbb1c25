package redisstore_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// The two keys of a record move one after the other. Until both have, calls are
// refused; then the claim is its owner's as before.
func TestSharedClaimsSurviveTheMoveOfTheirSlot(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, c.Addrs()[0], nil)
	s, m, a := openCompat(t, client), newMover(t, c), store.NewToken()
	for range 5 {
		k := newKey()
		claims(t, s, request(k, a), 1)
		slot := slotOf(companionName(k))
		from := 0
		if slot >= 8192 {
			from = 1
		}
		renew := func() error { return s.Renew(within(t, ample), []store.Claim{{Key: k, Token: a}})[0] }

		m.set(1-from, slot, "importing", m.ids[from])
		m.set(from, slot, "migrating", m.ids[1-from])
		if err := renew(); err != nil {
			t.Errorf("before the first key has moved: %v", err)
		}
		m.moveKey(from, 1-from, compatName(k))
		if err := renew(); store.ClassOf(err) != store.NotApplied || errors.Is(err, store.ErrNotOwner) {
			t.Errorf("when one key has moved: got %v, want a refusal that permits a repeat", err)
		}
		m.moveKey(from, 1-from, companionName(k))
		if err := renew(); err != nil {
			t.Errorf("when both keys have moved: %v", err)
		}
		m.set(1-from, slot, "node", m.ids[1-from])
		m.set(from, slot, "node", m.ids[1-from])
		if err := renew(); err != nil {
			t.Errorf("when the slot has moved: %v", err)
		}
		if got, err := s.Complete(within(t, ample), k, a, time.Hour); err != nil || got != store.Completed {
			t.Errorf("complete: got %v, %v, want completed", got, err)
		}
	}
}

func (m *mover) moveKey(from, to int, name string) {
	m.t.Helper()
	host, port, _ := net.SplitHostPort(m.nodes[to].Options().Addr)
	if err := m.nodes[from].Do(m.ctx, "migrate", host, port, name, 0, 5000).Err(); err != nil {
		m.t.Fatalf("migrate %s: %v", name, err)
	}
}
