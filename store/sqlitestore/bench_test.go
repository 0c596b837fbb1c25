package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

const keepTime = 24 * time.Hour

func request(id string) store.ClaimRequest {
	return store.ClaimRequest{
		Key:     store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: id},
		Token:   store.NewToken(),
		Lease:   30 * time.Second,
		Horizon: 3 * time.Hour,
	}
}

// Claims on new keys. claims/s is what scripts/bench.sh prints.
func BenchmarkClaim(b *testing.B) {
	for _, mode := range []string{"FULL", "NORMAL"} {
		for name, callers := range map[string]int{"1_caller": 1, "16_callers": 16, "64_callers": 64} {
			b.Run(mode+"/"+name, func(b *testing.B) {
				s := open(b, filepath.Join(b.TempDir(), "dedup.db"), sqlitestore.Options{Synchronous: mode})
				inParallel(b, callers, func(i int) {
					if v, err := s.Claim(context.Background(), request(strconv.Itoa(i))); v.State != store.Claimed {
						b.Error(v.State, err)
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
			})
		}
		b.Run(mode+"/batch_of_32", func(b *testing.B) { benchmarkBatch(b, mode) })
	}
}

// 32 claims on new keys in one call.
func benchmarkBatch(b *testing.B, mode string) {
	s := open(b, filepath.Join(b.TempDir(), "dedup.db"), sqlitestore.Options{Synchronous: mode})
	requests := make([]store.ClaimRequest, 32)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := range requests {
			requests[j] = request(strconv.Itoa(i*len(requests) + j))
		}
		for _, a := range s.ClaimBatch(context.Background(), requests) {
			if a.Verdict.State != store.Claimed {
				b.Fatal(a)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(requests))/b.Elapsed().Seconds(), "claims/s")
}

// Claims of copies of what is done write nothing.
func BenchmarkClaimDone(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "dedup.db"), sqlitestore.Options{})
	r := request("done")
	if _, err := s.Complete(b.Context(), r.Key, r.Token, keepTime); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := s.Claim(context.Background(), r); v.State != store.Done {
			b.Fatal(v.State, err)
		}
	}
}

// A claim and its complete from 64 callers, and what one record adds to the file,
// with a key of 58 bytes.
func BenchmarkClaimAndComplete(b *testing.B) {
	path := filepath.Join(b.TempDir(), "dedup.db")
	s := open(b, path, sqlitestore.Options{})
	inParallel(b, 64, func(i int) {
		r := request("an order number of the usual kind " + strconv.Itoa(1_000_000+i))
		if _, err := s.Claim(context.Background(), r); err != nil {
			b.Error(err)
		}
		if _, err := s.Complete(context.Background(), r.Key, r.Token, keepTime); err != nil {
			b.Error(err)
		}
	})
	b.StopTimer()
	if _, err := connect(b, path).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		b.Fatal(err)
	}
	file, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(file.Size())/float64(b.N), "file-B/record")
}

// inParallel has so many callers share b.N calls of do.
func inParallel(b *testing.B, callers int, do func(i int)) {
	b.ReportAllocs()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				do(int(i))
			}
		})
	}
	all.Wait()
}
