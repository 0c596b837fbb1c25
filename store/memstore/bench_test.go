package memstore_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

const (
	leaseTime   = 30 * time.Second
	horizonTime = 3 * time.Hour
	keepTime    = 24 * time.Hour
)

func TestAClaimThatIsRefusedAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newStore(t, memstore.Options{})
	done, busy := request("done"), request("busy")
	complete(t, s, done)
	claim(t, s, busy, store.Claimed)
	busy.Token = store.NewToken()
	for _, r := range []store.ClaimRequest{done, busy} {
		if n := testing.AllocsPerRun(1000, func() { _, _ = s.Claim(ctx, r) }); n != 0 {
			t.Errorf("a claim on a key that is %s: got %v allocations, want 0", r.Key.ID, n)
		}
	}
}

func BenchmarkClaimDone(b *testing.B) {
	s := newStore(b, memstore.Options{})
	r := request("done")
	complete(b, s, r)
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := s.Claim(b.Context(), r); v.State != store.Done {
			b.Fatal(v)
		}
	}
}

func BenchmarkClaimBusy(b *testing.B) {
	s := newStore(b, memstore.Options{})
	r := request("busy")
	claim(b, s, r, store.Claimed)
	r.Token = store.NewToken()
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := s.Claim(b.Context(), r); v.State != store.Busy {
			b.Fatal(v)
		}
	}
}

// One claim on a new key and its complete, with many records already there.
func BenchmarkClaimAndComplete(b *testing.B) {
	s := newStore(b, memstore.Options{MaxRecords: 1 << 30})
	r := request("")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Key.ID = strconv.Itoa(i)
		claim(b, s, r, store.Claimed)
		complete(b, s, r)
	}
}

// The same from all processors at once, each on keys of its own.
func BenchmarkClaimAndCompleteParallel(b *testing.B) {
	s := newStore(b, memstore.Options{MaxRecords: 1 << 30})
	var worker atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := request("")
		prefix := strconv.FormatInt(worker.Add(1), 10) + "-"
		for i := 0; pb.Next(); i++ {
			r.Key.ID = prefix + strconv.Itoa(i)
			claim(b, s, r, store.Claimed)
			complete(b, s, r)
		}
	})
}

func BenchmarkClaimDoneParallel(b *testing.B) {
	s := newStore(b, memstore.Options{})
	r := request("done")
	complete(b, s, r)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = s.Claim(b.Context(), r)
		}
	})
}

// The memory of one record that is done, with a key of 58 bytes.
func BenchmarkRecordBytes(b *testing.B) {
	s := newStore(b, memstore.Options{MaxRecords: 1 << 30})
	r := request("")
	before := heapBytes()
	for i := 0; b.Loop(); i++ {
		r.Key.ID = "an order number of the usual kind " + strconv.Itoa(1_000_000+i)
		complete(b, s, r)
	}
	b.ReportMetric(float64(heapBytes()-before)/float64(b.N), "B/record")
	runtime.KeepAlive(s)
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func claim(t testing.TB, s store.Store, r store.ClaimRequest, want store.State) {
	if v, err := s.Claim(context.Background(), r); err != nil || v.State != want {
		t.Fatalf("claim %s: got %v, %v; want %v", r.Key.ID, v.State, err, want)
	}
}

func complete(t testing.TB, s store.Store, r store.ClaimRequest) {
	if _, err := s.Complete(context.Background(), r.Key, r.Token, keepTime); err != nil {
		t.Fatalf("complete %s: %v", r.Key.ID, err)
	}
}

// 32 claims on new keys and their completes, each in one call.
func BenchmarkClaimAndSettleBatchOf32(b *testing.B) {
	s := newStore(b, memstore.Options{MaxRecords: 1 << 30})
	requests := make([]store.ClaimRequest, 32)
	settlements := make([]store.Settlement, len(requests))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := range requests {
			requests[j] = request(strconv.Itoa(i*len(requests) + j))
			settlements[j] = store.Settlement{
				Claim: store.Claim{Key: requests[j].Key, Token: requests[j].Token}, Keep: keepTime,
			}
		}
		for _, a := range s.ClaimBatch(b.Context(), requests) {
			if a.Verdict.State != store.Claimed {
				b.Fatal(a)
			}
		}
		for _, a := range s.SettleBatch(b.Context(), settlements) {
			if a.Completion != store.Completed {
				b.Fatal(a)
			}
		}
	}
}
