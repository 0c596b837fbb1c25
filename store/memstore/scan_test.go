package memstore_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestAScanListsRecordsInTheOrderInWhichTheyWereAdded(t *testing.T) {
	s := newStore(t, memstore.Options{})
	const records = 5000 // more than are looked at under one lock
	for i := range records {
		claim(t, s, request(strconv.Itoa(i)), store.Claimed)
	}
	next := 0
	for q := (store.Query{Limit: 700}); ; {
		p, err := s.Scan(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Records {
			if r.Key.ID != strconv.Itoa(next) {
				t.Fatalf("record %d of the scan: got %q", next, r.Key.ID)
			}
			next++
		}
		if q.After = p.Next; p.Next == "" {
			break
		}
	}
	if next != records {
		t.Errorf("got %d records, want %d", next, records)
	}
}

func TestAScanShowsARecordThatTookTheRoomOfAnExpiredOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Options{})
		for i := range 10 {
			complete(t, s, request(strconv.Itoa(i)))
		}
		time.Sleep(keepTime)
		complete(t, s, request("5"))
		p, err := s.Scan(t.Context(), store.Query{Limit: 20})
		if err != nil || len(p.Records) != 1 || p.Records[0].Key.ID != "5" {
			t.Errorf("got %v, %v, want key 5 alone", p.Records, err)
		}
	})
}

func TestAScanBesideClaimsShowsEveryRecordThatStaysOnce(t *testing.T) {
	s := newStore(t, memstore.Options{})
	const staying = 20_000
	for i := range staying {
		claim(t, s, request("stays "+strconv.Itoa(i)), store.Claimed)
	}
	var scan sync.WaitGroup
	defer scan.Wait()
	scan.Go(func() {
		seen := make(map[string]bool)
		for q := (store.Query{Limit: 3000, Status: store.StatusConsuming}); ; {
			p, err := s.Scan(t.Context(), q)
			if err != nil {
				t.Error(err)
				return
			}
			for _, r := range p.Records {
				if id := r.Key.ID; seen[id] {
					t.Errorf("%q was shown twice", id)
				} else if strings.HasPrefix(id, "stays ") {
					seen[id] = true
				}
			}
			if q.After = p.Next; p.Next == "" {
				break
			}
		}
		if len(seen) != staying {
			t.Errorf("got %d of the records that stayed, want %d", len(seen), staying)
		}
	})
	for i := range 5000 {
		r := request(strconv.Itoa(i))
		claim(t, s, r, store.Claimed)
		complete(t, s, r)
		if err := s.Forget(t.Context(), r.Key); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASweepGivesBackTheMemoryOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Options{})
		for i := range 3000 {
			r := request(strconv.Itoa(i))
			claim(t, s, r, store.Claimed)
			if i%2 == 0 {
				complete(t, s, r)
			}
		}
		time.Sleep(leaseTime + horizonTime)
		for _, want := range []int{1200, 300, 0} {
			if n, err := s.Sweep(t.Context(), 1200); n != want || err != nil {
				t.Errorf("sweep: got %d, %v, want %d", n, err, want)
			}
		}
		time.Sleep(keepTime)
		if n, err := s.Sweep(t.Context(), 1<<30); n != 1500 || err != nil {
			t.Errorf("sweep: got %d, %v, want the 1500 that were done", n, err)
		}
		if got := s.Len(); got != 0 {
			t.Errorf("got %d records left, want none", got)
		}
	})
}

// One page of a store with many records.
func BenchmarkScanPage(b *testing.B) {
	s := newStore(b, memstore.Options{MaxRecords: 1 << 30})
	for i := range 100_000 {
		claim(b, s, request(strconv.Itoa(i)), store.Claimed)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := s.Scan(b.Context(), store.Query{Limit: 1000}); len(p.Records) != 1000 || err != nil {
			b.Fatal(len(p.Records), err)
		}
	}
}
