package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// finish makes keys done.
func finish(t *testing.T, s *redisstore.Store, keys []store.Key) {
	t.Helper()
	var ends []store.Settlement
	for _, k := range keys {
		ends = append(ends, store.Settlement{Claim: store.Claim{Key: k, Token: store.NewToken()}, Keep: time.Hour})
	}
	for i, a := range s.SettleBatch(within(t, ample), ends) {
		if a.Err != nil {
			t.Fatalf("complete %d: %v", i, a.Err)
		}
	}
}

// walk is a scan and how often it has shown each key.
type walk struct {
	query store.Query
	shown map[store.Key]int
	pages int
}

func newWalk(limit int) *walk {
	return &walk{query: store.Query{Limit: limit}, shown: map[store.Key]int{}}
}

// step asks s for the next page, and reports false when there is none.
func (w *walk) step(t *testing.T, s *redisstore.Store) bool {
	t.Helper()
	page, err := s.Scan(within(t, ample), w.query)
	if err != nil {
		t.Fatalf("page %d: %v", w.pages, err)
	}
	return w.took(page)
}

func (w *walk) took(page store.Page) bool {
	for _, r := range page.Records {
		w.shown[r.Key]++
	}
	w.pages++
	w.query.After = page.Next
	return page.Next != ""
}

// wants keys shown, once each if exactly is true, else at least once.
func (w *walk) wants(t *testing.T, keys []store.Key, exactly bool) {
	t.Helper()
	missed, repeated := 0, 0
	for _, k := range keys {
		switch n := w.shown[k]; {
		case n == 0:
			missed++
		case n > 1:
			repeated++
		}
	}
	if missed > 0 || exactly && repeated > 0 {
		t.Errorf("of %d keys %d were missed and %d shown again", len(keys), missed, repeated)
	}
}

func TestAScanPassesOverNamesThatAreNoRecords(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := open(t, client)
	keys := newKeys(50)
	finish(t, s, keys)
	ctx := within(t, ample)
	names := []string{
		"", "{", "}", "{}", "{:::}", "{a:t::}", "{a::g:1}", "{:t:g:1}", "{a:t:g}", "{a:t:g:1", "a:t:g:1}", "{a:t:g:1:2}",
		"{a:t:g:%}", "{a:t:g:%zz}", "{a:t:g:%41}", "{a:t:g:%3a}", "{a:t:g:\x00}", "{a:t:g: }", "{a:t:g:{}", "{a:t:g:1}}",
		"{a:t:g:~}", "{a:t:g:~a}", "{a:t:g:~" + strings.Repeat("A", 64) + "}", "{a:t:g:" + strings.Repeat("x", 256) + "}",
		"{a:t:g:~~" + strings.Repeat("x", 255) + "}", "{pulse}a:n", "{check:1}", "{a:t:g:\xff%FF%}",
		"{a:t:g:" + strings.Repeat("%", 1<<16) + "}",
	}
	for _, name := range names {
		if err := client.Set(ctx, prefix+name, "D|"+someToken+"|1", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 7, store.MaxScan} {
		w := newWalk(limit)
		for w.step(t, s) {
			if w.pages > 1000 {
				t.Fatal("the scan does not end")
			}
		}
		w.wants(t, keys, true)
		if len(w.shown) != len(keys) {
			t.Errorf("got %d keys, want %d: %v", len(w.shown), len(keys), w.shown)
		}
	}
}

// A scan for a status reads values before it looks at records, and must not think
// of any of them what the look does not.
func TestAScanForAStatusFindsWhatALookShows(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := open(t, client)
	want := map[store.Status]map[store.Key]int{}
	for _, value := range append(malformed, wellformed...) {
		k := newKey()
		if err := client.Set(t.Context(), recordName(k), value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		r, err := s.Get(within(t, ample), k)
		if err != nil {
			t.Fatal(err)
		}
		if want[r.Status] == nil {
			want[r.Status] = map[store.Key]int{}
		}
		want[r.Status][k] = 1
	}
	for status := store.StatusConsuming; status <= store.StatusCorrupt; status++ {
		w := newWalk(store.MaxScan)
		w.query.Status = status
		for w.step(t, s) {
		}
		if len(want[status]) == 0 || !maps.Equal(w.shown, want[status]) {
			t.Errorf("%v: got %d keys, want these %d", status, len(w.shown), len(want[status]))
		}
	}
}

// A table that shrinks names again what it has named just before. What goes on in
// another process may show it again, but misses nothing either.
func TestAScanMissesNothingWhenTheTableGrowsOrShrinks(t *testing.T) {
	t.Parallel()
	client := private(t, "--enable-debug-command", "yes")
	s, other := open(t, client), open(t, client)
	admin := connect(t, client.Options().Addr, func(o *redis.Options) { o.ReadTimeout = ample }) // of many keys at once
	keys := newKeys(500)
	finish(t, s, keys)
	populate(t, admin, 1<<16)
	awaitTable(t, admin, 131072)
	var here []*walk
	for i := range 7 {
		w := newWalk(5)
		for w.step(t, s) && len(w.shown) < 50*(i+1) {
		}
		here = append(here, w)
	}
	there := *here[0]
	there.shown = maps.Clone(there.shown)
	err := admin.Eval(within(t, ample), "for i = 0, 65535 do redis.call('DEL', 'key:' .. i) end return 1", nil).Err()
	if err != nil {
		t.Fatal(err)
	}
	awaitTable(t, admin, 512)
	for _, w := range here {
		w.step(t, s)
	}
	there.step(t, other)
	populate(t, admin, 1<<13)
	awaitTable(t, admin, 16384)
	for _, w := range here {
		for w.step(t, s) {
		}
		w.wants(t, keys, true)
	}
	for there.step(t, other) {
	}
	there.wants(t, keys, false)
}

// populate adds n foreign keys, called key:0 and so on.
func populate(t testing.TB, client *redis.Client, n int) {
	t.Helper()
	client = client.WithTimeout(ample) // it answers when all is there
	if err := client.Do(t.Context(), "debug", "populate", n).Err(); err != nil {
		t.Fatal(err)
	}
}

// awaitTable waits until the server has moved its keys to a table of that size.
func awaitTable(t *testing.T, client *redis.Client, size int) {
	t.Helper()
	ctx := within(t, ample)
	for {
		text, err := client.Do(ctx, "debug", "htstats", 0).Text()
		if err != nil {
			t.Fatalf("waiting for a table of %d: %v", size, err)
		}
		main, _, _ := strings.Cut(text, "[Expires")
		if strings.Contains(main, fmt.Sprintf("table size: %d\n", size)) && !strings.Contains(main, "rehashing target") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAPageAsksForABoundedNumberOfNames(t *testing.T) {
	t.Parallel()
	client := private(t, "--enable-debug-command", "yes")
	s := open(t, client)
	keys := newKeys(3)
	finish(t, s, keys)
	populate(t, client, 200_000)
	var steps atomic.Int64
	client.AddHook(meddler{answer: func(cmd redis.Cmder) (error, bool) {
		if cmd.Name() == "scan" {
			steps.Add(1)
		}
		return nil, false
	}})
	w := newWalk(1)
	for before := int64(0); w.step(t, s); before = steps.Load() {
		if n := steps.Load() - before; n > 16 {
			t.Errorf("page %d took %d steps", w.pages, n)
		}
	}
	w.wants(t, keys, true)
	if w.pages > 40 {
		t.Errorf("got %d pages, want long steps where there are no records", w.pages)
	}
}

// Behind a proxy that spreads calls over several servers no cursor means anything.
func TestAScanThatNeverGetsOnIsRefused(t *testing.T) {
	t.Parallel()
	a, b := private(t, "--enable-debug-command", "yes"), private(t, "--enable-debug-command", "yes")
	populate(t, a, 100_000)
	populate(t, b, 100_000)
	spread := connect(t, a.Options().Addr, func(o *redis.Options) {
		dial := redis.NewDialer(o)
		o.ConnMaxIdleTime = time.Nanosecond // every call dials
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dial(ctx, network, []string{addr, b.Options().Addr}[rand.IntN(2)])
		}
	})
	s := open(t, spread)
	for w := newWalk(5); ; {
		page, err := s.Scan(within(t, ample), w.query)
		if errors.Is(err, store.ErrInvalid) {
			return
		}
		if err != nil || !w.took(page) || w.pages > 1000 {
			t.Fatalf("page %d: got %+v, %v, want the scan refused at last", w.pages, page, err)
		}
	}
}

func TestAScanStartsAnewWhenTheServerHasRestarted(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--appendonly", "yes")
	s := open(t, connect(t, server.Addr(), nil))
	keys := newKeys(400)
	finish(t, s, keys)
	w := newWalk(10)
	for w.step(t, s) && w.pages < 20 {
	}
	server.Restart()
	for w.step(t, s) {
	}
	w.wants(t, keys, true)
}
