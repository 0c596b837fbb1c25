package redisstore_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// Slots are half on their way when the scan comes to them, move on between its
// pages, and back again.
func TestAScanMissesNothingWhileSlotsMove(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, c.Addrs()[0], nil)
	seen := new(redirections)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(seen) })
	s, m := open(t, client), newMover(t, c)
	keys := append(keysBelow(moving, 400), newKeys(200)...)
	finish(t, s, keys)
	for _, way := range [][2]int{{0, 1}, {1, 0}} {
		from, to := way[0], way[1]
		asked := seen.asked.Load()
		for slot := range moving {
			m.begin(from, to, slot)
			m.moveKeys(from, to, slot)
		}
		w, slot := newWalk(7), 0
		for w.step(t, s) {
			if w.pages%2 == 0 && slot < moving {
				m.end(from, to, slot)
				slot++
			}
		}
		w.wants(t, keys, true)
		if seen.asked.Load() == asked {
			t.Error("the scan has met no slot on its way")
		}
		for ; slot < moving; slot++ {
			m.end(from, to, slot)
		}
	}
}

// A client goes on to ask the master that it knows, which has no name of the slot
// any more.
func TestAScanMissesNothingInSlotsThatHaveMoved(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, c.Addrs()[0], nil)
	seen := new(redirections)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(seen) })
	s, m := open(t, client), newMover(t, c)
	keys := keysBelow(moving, 200)
	finish(t, s, keys)
	for slot := range moving {
		m.begin(0, 1, slot)
		m.end(0, 1, slot)
	}
	w := newWalk(7)
	for w.step(t, s) {
	}
	w.wants(t, keys, true)
	if seen.moved.Load() == 0 {
		t.Error("the client has always known where slots are")
	}
}

func TestAScanDoesNotHoldUpAMasterForACrowdedSlot(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0, "--enable-debug-command", "yes")
	s := open(t, connectCluster(t, c.Addrs()[0], nil))
	owner, m := connect(t, c.Addrs()[0], nil), newMover(t, c)
	crowded := slotOf("{b}")
	if err := owner.Do(t.Context(), "debug", "populate", 100_001, "{b}").Err(); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"that stays", "on its way"} {
		if what == "on its way" {
			m.begin(0, 1, crowded)
		}
		w := newWalk(store.MaxScan)
		var page store.Page
		var err error
		for more := true; more && err == nil; more = w.took(page) {
			page, err = s.Scan(within(t, ample), w.query)
		}
		if store.ClassOf(err) != store.Permanent || !strings.Contains(err.Error(), strconv.Itoa(crowded)) {
			t.Errorf("a slot %s: got %v, want a permanent error that names it", what, err)
		}
	}
}

// survived walks with s until a third of the keys have been shown, lets a master
// be replaced, walks on, and wants each of the keys, which were on its heir
// before, shown once.
func survived(t *testing.T, s *redisstore.Store, keys []store.Key, strike func()) {
	t.Helper()
	w := newWalk(20)
	for w.step(t, s) && len(w.shown) < len(keys)/3 {
	}
	strike()
	for ctx := within(t, ample); ; {
		brief, cancel := context.WithTimeout(ctx, 2*time.Second)
		page, err := s.Scan(brief, w.query)
		cancel()
		switch {
		case ctx.Err() != nil || store.ClassOf(err) == store.Permanent || errors.Is(err, store.ErrInvalid):
			t.Fatalf("the scan does not get on: %v", err)
		case err == nil && !w.took(page):
			w.wants(t, keys, true)
			return
		}
	}
}

// replicated waits until n replicas have what was written.
func replicated(t *testing.T, master *testserver.RedisServer, n int) {
	t.Helper()
	conn := connect(t, master.Addr(), func(o *redis.Options) { o.ReadTimeout = ample }).Conn()
	defer conn.Close()
	ctx := t.Context()
	last := conn.Set(ctx, prefix+"{b}", "last", time.Minute).Err() // in a slot of the first master
	if got, err := conn.Wait(ctx, n, ample).Result(); last != nil || err != nil || int(got) != n {
		t.Fatalf("got %v, then %d replicas in step, %v, want %d", last, got, err, n)
	}
}

func TestAScanMissesNothingInAFailover(t *testing.T) {
	t.Parallel()
	set, client := underSentinels(t)
	s, keys := open(t, client), newKeys(300)
	finish(t, s, keys)
	replicated(t, set.Master, 1)
	survived(t, s, keys, func() { set.Watch(); set.Master.Kill() })
}

func TestAScanMissesNothingInAFailoverOfACluster(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 3, 1)
	s, keys := open(t, connectCluster(t, c.Addrs()[0], nil)), newKeys(600)
	finish(t, s, keys)
	replicated(t, c.Masters[0], 1)
	survived(t, s, keys, func() { c.Watch(); c.Masters[0].Kill() })
}
