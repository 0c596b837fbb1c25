package mysqlstore_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// rival are the two statements that the original sends for a message, through
// the same driver: an INSERT, and when the callback has succeeded an UPDATE.
type rival struct {
	db             *sql.DB
	insert, update *sql.Stmt
}

func newRival(t testing.TB, db *sql.DB) *rival {
	t.Helper()
	name := table(t, db)
	executes(t, db, "CREATE TABLE %s (application_name varchar(255) NOT NULL, topic varchar(255) NOT NULL,"+
		" tag varchar(16) NOT NULL, msg_uniq_key varchar(255) NOT NULL, status varchar(16) NOT NULL,"+
		" expire_time bigint NOT NULL, UNIQUE KEY uniq_key (application_name, topic, tag, msg_uniq_key))"+
		" ENGINE=InnoDB DEFAULT CHARSET=utf8 ROW_FORMAT=COMPACT", name)
	r := &rival{db: db}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.insert, "INSERT INTO " + name + " (application_name, topic, tag, msg_uniq_key, status, expire_time)" +
			" VALUES (?, ?, ?, ?, 'CONSUMING', ?)"},
		{&r.update, "UPDATE " + name + " SET status = 'CONSUMED', expire_time = ?" +
			" WHERE application_name = ? AND topic = ? AND tag = ? AND msg_uniq_key = ?"},
	} {
		stmt, err := db.PrepareContext(within(t, ample), s.text) // as Connector/J does at its best
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stmt.Close() }) // the pool is closed next
		*s.stmt = stmt
	}
	return r
}

func (r *rival) insertThenUpdate(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	k, now := newKey(), time.Now().UnixMilli()
	if _, err := r.insert.ExecContext(ctx, k.Application, k.Topic, k.Tag, k.ID, now+600_000); err != nil {
		t.Error(err)
	}
	if _, err := r.update.ExecContext(ctx, now+86_400_000, k.Application, k.Topic, k.Tag, k.ID); err != nil {
		t.Error(err)
	}
}

// contest is the store beside the original's statements, in turns, so that a
// busy moment of the machine hits both alike.
type contest struct {
	name         string
	callers      int
	ours, theirs func()
	keys         int // of one call of ours
	floor        float64
}

func contests(t testing.TB, s *mysqlstore.Store, r *rival) []contest {
	single, theirs := func() { claimThenComplete(t, s) }, func() { r.insertThenUpdate(t) }
	return []contest{
		{"20 callers", 20, single, theirs, 1, 0.2},
		{"64 callers", 64, single, theirs, 1, 0.3},
		{"batch of 32", 1, func() { batchOf32(t, s) }, theirs, 32, 1},
	}
}

// turn makes as many keys done by both, and returns how often the store makes
// the pair in the time of the original's.
func (c *contest) turn(keys int) float64 {
	began := time.Now()
	together(c.callers, keys/c.keys, c.ours)
	ours := time.Since(began)
	began = time.Now()
	together(c.callers, keys, c.theirs)
	return time.Since(began).Seconds() / ours.Seconds()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkAgainstTheOriginal has the unit x-original: how many pairs of a claim
// and its complete the store makes in the time of one of the original's pairs.
func BenchmarkAgainstTheOriginal(b *testing.B) {
	s, db := benchmarked(b)
	for _, c := range contests(b, s, newRival(b, db)) {
		b.Run(c.name, func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				ratios = append(ratios, c.turn(512))
			}
			b.ReportMetric(median(ratios), "x-original")
		})
	}
}

// The floors are for machines on which everything else is busy, too.
// scripts/bench.sh measures.
func TestTheStoreIsNotSlowerThanTheOriginalsStatements(t *testing.T) {
	db := pool(t, storetest.Server(t, "DEDUP_TEST_MARIADB"), "")
	s := migrated(t, db, mysqlstore.Options{})
	for _, c := range contests(t, s, newRival(t, db)) {
		var ratios []float64
		for range 5 {
			ratios = append(ratios, c.turn(256))
		}
		got := median(ratios)
		t.Logf("figure: %s: %.1f times the original's statements", c.name, got)
		if got < c.floor {
			t.Errorf("%s: %.1f times the original's statements, want %.1f at least", c.name, got, c.floor)
		}
	}
}

// The store makes no more allocations than a claim and its complete need.
func TestAClaimAllocatesLittle(t *testing.T) {
	s := migrated(t, pool(t, storetest.Server(t, "DEDUP_TEST_MARIADB"), ""), mysqlstore.Options{})
	k := newKey()
	completes(t, s, k, store.NewToken(), time.Hour, store.Recreated)
	n := testing.AllocsPerRun(50, func() { answers(t, s, k, store.Done) })
	t.Logf("figure: %.0f allocations for a claim of a done key", n)
	if n > 150 {
		t.Errorf("a claim of a done key: got %.0f allocations, want 150 at most", n)
	}
}
