package mysqlstore_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// benchmarked is a store on MariaDB, over as many connections as the package
// comment recommends.
func benchmarked(b testing.TB) (*mysqlstore.Store, *sql.DB) {
	db := pool(b, storetest.Server(b, "DEDUP_TEST_MARIADB"), "")
	return migrated(b, db, mysqlstore.Options{}), db
}

func BenchmarkClaimAndComplete(b *testing.B) {
	for _, c := range []struct {
		name    string
		callers int
	}{{"1 caller", 1}, {"20 callers", 20}, {"64 callers", 64}} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := benchmarked(b)
			b.ReportAllocs()
			b.ResetTimer()
			together(c.callers, b.N, func() { claimThenComplete(b, s) })
		})
	}
}

func BenchmarkClaimOfADoneKey(b *testing.B) {
	s, _ := benchmarked(b)
	k := newKey()
	completes(b, s, k, store.NewToken(), time.Hour, store.Recreated)
	b.ReportAllocs()
	for b.Loop() {
		answers(b, s, k, store.Done)
	}
}

// 32 claims on new keys and their completes, each in one call.
func BenchmarkClaimAndSettleBatchOf32(b *testing.B) {
	s, _ := benchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		batchOf32(b, s)
	}
}

func BenchmarkRenewOf64(b *testing.B) {
	s, _ := benchmarked(b)
	all := requests(newKeys(64))
	claimsAll(b, s, all)
	var held []store.Claim
	for _, r := range all {
		held = append(held, store.Claim{Key: r.Key, Token: r.Token})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Renew(b.Context(), held) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func claimThenComplete(t testing.TB, s *mysqlstore.Store) {
	if err := claimAndComplete(s, newKey()); err != nil {
		t.Error(err)
	}
}

func batchOf32(t testing.TB, s *mysqlstore.Store) {
	all := requests(newKeys(32))
	claimsAll(t, s, all)
	var settled []store.Settlement
	for _, r := range all {
		settled = append(settled, store.Settlement{Claim: store.Claim{Key: r.Key, Token: r.Token}, Keep: time.Hour})
	}
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	for _, a := range s.SettleBatch(ctx, settled) {
		if a.Err != nil || a.Completion != store.Completed {
			t.Errorf("settle: got %v, %v, want completed", a.Completion, a.Err)
		}
	}
}

// together makes n calls from many callers.
func together(callers, n int, call func()) {
	var all sync.WaitGroup
	var made atomic.Int64
	for range callers {
		all.Go(func() {
			for made.Add(1) <= int64(n) {
				call()
			}
		})
	}
	all.Wait()
}
