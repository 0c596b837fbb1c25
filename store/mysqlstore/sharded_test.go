package mysqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// byID spreads keys over n shards.
func byID(n int) func(store.Key) int {
	return func(k store.Key) int {
		h := fnv.New32a()
		_, _ = h.Write([]byte(k.ID)) // it returns no error
		return int(h.Sum32() % uint32(n))
	}
}

func newSharded(t testing.TB, pick func(store.Key) int, shards ...*mysqlstore.Store) *mysqlstore.Sharded {
	t.Helper()
	s, err := mysqlstore.NewSharded(pick, shards...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onBoth is a store whose even shards are in MariaDB and whose odd ones in MySQL.
func onBoth(t testing.TB, pick func(store.Key) int) (*mysqlstore.Sharded, []*mysqlstore.Store) {
	t.Helper()
	var shards []*mysqlstore.Store
	for _, env := range []string{"DEDUP_TEST_MARIADB", "DEDUP_TEST_MYSQL"} {
		shards = append(shards, migrated(t, pool(t, storetest.Server(t, env), ""), mysqlstore.Options{}))
	}
	return newSharded(t, pick, shards...), shards
}

func TestContractOverShards(t *testing.T) {
	t.Parallel()
	var shards []*mysqlstore.Store
	var reach []storetest.Hooks
	for _, env := range []string{"DEDUP_TEST_MARIADB", "DEDUP_TEST_MYSQL"} {
		db := newPlace(t, storetest.Server(t, env)).open(t, "")
		s, err := mysqlstore.New(db, mysqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shards, reach = append(shards, s), append(reach, hooks(db, s))
	}
	pick := byID(len(shards))
	s := newSharded(t, pick, shards...)
	if err := s.Migrate(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(within(t, ample)); err != nil {
		t.Error(err)
	}
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: storetest.Hooks{
		Corrupt: func(ctx context.Context, s store.Store, k store.Key) error { return reach[pick(k)].Corrupt(ctx, s, k) },
		Persist: func(ctx context.Context, s store.Store, k store.Key) error { return reach[pick(k)].Persist(ctx, s, k) },
		HasExpiry: func(ctx context.Context, s store.Store, k store.Key) (bool, error) {
			return reach[pick(k)].HasExpiry(ctx, s, k)
		},
	}})
}

func TestWrongShardsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	db := pool(t, "127.0.0.1:1", "")
	open := func(table string) *mysqlstore.Store {
		s, err := mysqlstore.New(db, mysqlstore.Options{Table: table})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	_, err := mysqlstore.NewSharded(nil, open("a"), nil, open("b"), open("a"))
	wantMentions(t, err, "pick is nil", "shard 1 is nil", "shard 3 is over the pool and the table of shard 0")
	_, err = mysqlstore.NewSharded(byID(1))
	wantMentions(t, err, "no shards")
	if _, err := mysqlstore.NewSharded(byID(2), open("a"), open("b")); err != nil {
		t.Errorf("two tables of one pool: %v", err)
	}
}

func wantMentions(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that mentions %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want a mention of %q", err, word)
		}
	}
}

// A record in a shard that pick does not mean would be a second one.
func TestAWrongPickIsNeverAnotherShard(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		pick  func(store.Key) int
		words []string
	}{
		"too large": {func(store.Key) int { return 2 }, []string{"returned 2", "0 to 1"}},
		"negative":  {func(store.Key) int { return -1 }, []string{"returned -1", "0 to 1"}},
		"index":     {func(k store.Key) int { return []int{0}[len(k.ID)] }, []string{"panicked", "index out of range"}},
		"own panic": {func(k store.Key) int { panic("no shard for " + k.ID) }, []string{"panicked", "string"}},
		"nil panic": {func(store.Key) int { panic(nil) }, []string{"panicked"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, shards := onBoth(t, c.pick)
			ctx, k, a := within(t, ample), store.Key{Application: "app", Topic: "t", ID: "secret"}, store.NewToken()
			for op, err := range everyCall(ctx, s, k, a) {
				wantMentions(t, err, c.words...)
				if !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: got %v, want %v without the key", op, err, store.ErrInvalid)
				}
			}
			for i, shard := range shards {
				if _, err := shard.Get(ctx, k); !errors.Is(err, store.ErrNoRecord) {
					t.Errorf("shard %d: got %v, want no record", i, err)
				}
			}
		})
	}
}

// everyCall is the error of each method about one key.
func everyCall(ctx context.Context, s *mysqlstore.Sharded, k store.Key, a store.Token) map[string]error {
	_, claim := s.Claim(ctx, request(k, a))
	_, complete := s.Complete(ctx, k, a, time.Hour)
	_, fence := s.Fence(ctx, k, a)
	_, get := s.Get(ctx, k)
	return map[string]error{
		"claim": claim, "complete": complete, "fence": fence, "get": get,
		"release": s.Release(ctx, k, a, true), "park": s.Park(ctx, k, a, time.Hour), "forget": s.Forget(ctx, k),
		"renew":        s.Renew(ctx, []store.Claim{{Key: k, Token: a}})[0],
		"claim batch":  s.ClaimBatch(ctx, []store.ClaimRequest{request(k, a)})[0].Err,
		"settle batch": s.SettleBatch(ctx, []store.Settlement{{Claim: store.Claim{Key: k, Token: a}, Keep: time.Hour}})[0].Err,
	}
}

func TestEveryKeyHasItsRecordInItsShard(t *testing.T) {
	t.Parallel()
	s, shards := onBoth(t, byID(2))
	ctx, a, b := within(t, ample), store.NewToken(), store.NewToken()
	var requests []store.ClaimRequest
	for i := range 40 {
		requests = append(requests, request(store.Key{Application: "app", Topic: "t", ID: fmt.Sprint(i)}, a))
	}
	claims(t, s, request(requests[7].Key, b), 1)
	for i, answer := range s.ClaimBatch(ctx, requests) {
		want := store.Claimed
		if i == 7 {
			want = store.Busy
		}
		if answer.Err != nil || answer.Verdict.State != want {
			t.Errorf("claim %d: got %+v, want %v", i, answer, want)
		}
	}
	for i, r := range requests {
		for n, shard := range shards {
			_, err := shard.Get(ctx, r.Key)
			if there := err == nil; there != (n == byID(2)(r.Key)) {
				t.Errorf("key %d: shard %d has it: %v (%v)", i, n, there, err)
			}
		}
	}
	seen := map[string]int{}
	for q := (store.Query{Limit: 7}); ; {
		page, err := s.Scan(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			seen[r.Key.ID]++
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	for _, r := range requests {
		if seen[r.Key.ID] != 1 {
			t.Errorf("scan: got key %s %d times, want once", r.Key.ID, seen[r.Key.ID])
		}
	}
	for _, after := range []string{"2/", "-1/", "x/", "0", "1/x", "/"} {
		if _, err := s.Scan(ctx, store.Query{Limit: 7, After: after}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("scan after %q: got %v, want %v", after, err, store.ErrInvalid)
		}
	}
}

// A shard's backlog is swept with what the others leave of the limit.
func TestASweepIsBoundedOverAllShards(t *testing.T) {
	t.Parallel()
	pick := func(k store.Key) int { return int(k.ID[0] - '0') }
	s, _ := onBoth(t, pick)
	ctx := within(t, ample)
	for i := range 30 {
		k := store.Key{Application: "app", Topic: "t", ID: fmt.Sprintf("1%d", i)}
		completes(t, s, k, store.NewToken(), time.Millisecond, store.Recreated)
	}
	completes(t, s, store.Key{Application: "app", Topic: "t", ID: "0"}, store.NewToken(), time.Millisecond, store.Recreated)
	for i, c := range []struct{ limit, want int }{{1, 1}, {1, 1}, {9, 9}, {12, 12}, {100, 8}, {100, 0}} {
		if n, err := s.Sweep(ctx, c.limit); n != c.want || err != nil {
			t.Errorf("sweep %d of up to %d: got %d, %v, want %d", i, c.limit, n, err, c.want)
		}
	}
	if _, err := s.Sweep(ctx, 0); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("sweep of 0: got %v, want %v", err, store.ErrInvalid)
	}
}

func TestAShardThatIsDownHoldsUpItsOwnKeysOnly(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		proxy := testserver.NewProxy(t, address)
		up := migrated(t, pool(t, address, ""), mysqlstore.Options{})
		down, err := mysqlstore.New(pool(t, proxy.Addr(), ""), mysqlstore.Options{Table: table(t, pool(t, address, ""))})
		if err != nil {
			t.Fatal(err)
		}
		s := newSharded(t, func(k store.Key) int { return int(k.ID[0] - '0') }, up, down)
		if err := s.Migrate(within(t, ample)); err != nil {
			t.Fatal(err)
		}
		proxy.BlackHole(true)

		here, there := store.Key{Application: "app", Topic: "t", ID: "0"}, store.Key{Application: "app", Topic: "t", ID: "1"}
		ctx, a := within(t, 3*time.Second), store.NewToken()
		answers := s.ClaimBatch(ctx, []store.ClaimRequest{request(there, a), request(here, a), request(there, a)})
		if answers[1].Err != nil || answers[1].Verdict.State != store.Claimed {
			t.Errorf("the key of the shard that is up: got %+v", answers[1])
		}
		for _, i := range []int{0, 2} {
			wantMentions(t, answers[i].Err, "shard 1")
			if answers[i].Verdict.State != 0 {
				t.Errorf("the key of the shard that is down: got %+v", answers[i])
			}
		}
		completes(t, s, here, a, time.Millisecond, store.Completed)
		proxy.Refuse(true) // answers at once, so that deadlines can be ample
		n, err := s.Sweep(within(t, ample), 10)
		wantMentions(t, err, "sweep", "shard 1")
		if n != 1 {
			t.Errorf("sweep: got %d records, want the one of the shard that is up", n)
		}
		err = s.Check(within(t, ample))
		wantMentions(t, err, "check", "shard 1")
		if strings.Contains(err.Error(), "shard 0") {
			t.Errorf("check: got %v, want nothing about the shard that is up", err)
		}
	})
}

func TestFindingsNameTheirShard(t *testing.T) {
	t.Parallel()
	db := pool(t, storetest.Server(t, "DEDUP_TEST_MARIADB"), "")
	slow := pool(t, storetest.Server(t, "DEDUP_TEST_MYSQL"), "innodb_lock_wait_timeout=50")
	missing, err := mysqlstore.New(slow, mysqlstore.Options{Table: table(t, slow)})
	if err != nil {
		t.Fatal(err)
	}
	s := newSharded(t, byID(2), migrated(t, db, mysqlstore.Options{}), missing)
	err = s.Check(within(t, ample))
	wantMentions(t, err, "shard 1: innodb_lock_wait_timeout", "shard 1: table")
	var f *mysqlstore.Finding
	if !errors.As(err, &f) {
		t.Errorf("got %v, want findings", err)
	}
	if err := s.Migrate(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(within(t, ample)); strings.Contains(err.Error(), "table") {
		t.Errorf("after Migrate: got %v", err)
	}
	if err := s.Wait(within(t, ample)); err != nil {
		t.Error(err)
	}
}
