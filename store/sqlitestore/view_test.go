package sqlitestore_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestGetTellsWhatThereIs(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "dedup.db"), sqlitestore.Options{})
	if _, err := s.Get(t.Context(), request("1").Key); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("nothing: got %v, want no record", err)
	}
	if _, err := s.Get(t.Context(), store.Key{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no key: got %v, want invalid", err)
	}
	r := claim(t, s, "~1\x00", store.Claimed)
	got, err := s.Get(t.Context(), r.Key)
	if err != nil || got.Key != r.Key || got.Hashed || got.Status != store.StatusConsuming || got.Token != r.Token ||
		got.Attempt != 1 || got.Lease != r.Lease || got.Horizon != r.Horizon || got.LeaseLeft > r.Lease || got.LeaseLeft <= 0 {
		t.Errorf("got %+v, %v; want the claim %+v", got, err, r)
	}
	long := request(strings.Repeat("x", 300))
	if _, err := s.Complete(t.Context(), long.Key, long.Token, keepTime); err != nil {
		t.Fatal(err)
	}
	got, err = s.Get(t.Context(), long.Key)
	if err != nil || !got.Hashed || got.Key != long.Key.Bounded() || got.Status != store.StatusConsumed || got.ExpiresIn > keepTime {
		t.Errorf("got %+v, %v; want the digest of the id, and done", got, err)
	}
}

func TestForgetRemovesWhatIsNotRunning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{})
	r := claim(t, s, "1", store.Claimed)
	if err := s.Forget(t.Context(), r.Key); !errors.Is(err, store.ErrInFlight) {
		t.Errorf("in flight: got %v, want that it is", err)
	}
	if _, err := s.Complete(t.Context(), r.Key, r.Token, keepTime); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), r.Key); err != nil || count(t, path) != 0 {
		t.Errorf("done: got %v and %d rows, want it removed", err, count(t, path))
	}
	if err := s.Forget(t.Context(), r.Key); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("again: got %v, want no record", err)
	}
	claim(t, s, "1", store.Claimed)
}

func TestSweepRemovesTheLongestExpiredFirstWhateverTheyAre(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s, db := open(t, path, sqlitestore.Options{}), connect(t, path)
	total := 2*sqlitestore.SweepStep + 10
	var batch []store.ClaimRequest
	for i := range total {
		batch = append(batch, request(strconv.Itoa(i)))
	}
	for _, a := range s.ClaimBatch(t.Context(), batch) {
		if a.Verdict.State != store.Claimed {
			t.Fatal(a)
		}
	}
	words := []string{"CONSUMING", "RELEASED", "CONSUMED", "PARKED", "?", ""}
	for i := range total { // the first has expired last
		execute(t, db, `UPDATE dedup_record SET expire_time = ?, status = ? WHERE id = ?`,
			total-i, words[i%len(words)], []byte(strconv.Itoa(i)))
	}
	claim(t, s, "alive", store.Claimed)
	if n, err := s.Sweep(t.Context(), 7); n != 7 || err != nil {
		t.Errorf("got %d, %v, want 7", n, err)
	}
	var oldest int
	if err := db.QueryRow(`SELECT min(expire_time) FROM dedup_record`).Scan(&oldest); err != nil || oldest != 8 {
		t.Errorf("got %d as the oldest, %v, want 8: the 7 before it are gone", oldest, err)
	}
	if n, err := s.Sweep(t.Context(), math.MaxInt); n != total-7 || err != nil {
		t.Errorf("got %d, %v, want the other %d", n, err, total-7)
	}
	if n, err := s.Sweep(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("got %d, %v, want nothing more", n, err)
	}
	claim(t, s, "alive", store.Busy)
}

func TestAScanReturnsEachRecordOnce(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "dedup.db"), sqlitestore.Options{})
	want := map[store.Status][]string{}
	for i := range 60 {
		r := request(strconv.Itoa(i))
		r.Key.Application = []string{"billing", "~shipping"}[i/30]
		status := []store.Status{store.StatusConsuming, store.StatusLapsed, store.StatusConsumed, store.StatusParked}[i%4]
		if status == store.StatusLapsed && i%3 == 0 {
			r.Lease = time.Millisecond
		}
		if v, err := s.Claim(t.Context(), r); v.State != store.Claimed {
			t.Fatal(err)
		}
		var err error
		switch {
		case status == store.StatusConsumed:
			_, err = s.Complete(t.Context(), r.Key, r.Token, keepTime)
		case status == store.StatusParked:
			err = s.Park(t.Context(), r.Key, r.Token, keepTime)
		case status == store.StatusLapsed && i%3 != 0:
			err = s.Release(t.Context(), r.Key, r.Token, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		want[status] = append(want[status], r.Key.Application+r.Key.ID)
		want[0] = append(want[0], r.Key.Application+r.Key.ID)
	}
	time.Sleep(3 * time.Millisecond) // the leases of a millisecond end
	for status, all := range want {
		for _, limit := range []int{1, 7, 60, store.MaxScan} {
			for _, application := range []string{"", "billing", "~shipping", "nobody"} {
				q := store.Query{Application: application, Status: status, Limit: limit}
				var ids []string
				for _, id := range all {
					if strings.HasPrefix(id, application) {
						ids = append(ids, id)
					}
				}
				if got := scanned(t, s, q); !slices.Equal(got, sorted(ids)) {
					t.Errorf("%+v: got %q, want %q", q, got, sorted(ids))
				}
			}
		}
	}
	q := store.Query{Status: store.StatusLapsed, Overdue: time.Hour, Limit: 10}
	if got := scanned(t, s, q); len(got) != 0 {
		t.Errorf("overdue for an hour: got %q, want none", got)
	}
	q.Overdue = time.Millisecond
	time.Sleep(2 * time.Millisecond)
	if got := scanned(t, s, q); !slices.Equal(got, sorted(want[store.StatusLapsed])) {
		t.Errorf("overdue for a millisecond: got %q, want all that have lapsed", got)
	}
}

func TestAScanFindsWhatNobodyUnderstandsAndLeavesOutWhatHasExpired(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{})
	for _, id := range []string{"corrupt", "expired", "alive"} {
		claim(t, s, id, store.Claimed)
	}
	db := connect(t, path)
	execute(t, db, `UPDATE dedup_record SET status = 'x' WHERE id = ?`, []byte("corrupt"))
	execute(t, db, `UPDATE dedup_record SET expire_time = 1 WHERE id = ?`, []byte("expired"))
	if got, want := scanned(t, s, store.Query{Status: store.StatusCorrupt, Limit: 2}), []string{"billingcorrupt"}; !slices.Equal(got, want) {
		t.Errorf("corrupt: got %q, want %q", got, want)
	}
	if got, want := scanned(t, s, store.Query{Limit: 2}), []string{"billingalive", "billingcorrupt"}; !slices.Equal(got, want) {
		t.Errorf("all: got %q, want %q", got, want)
	}
	if got := scanned(t, s, store.Query{Status: store.StatusLapsed, Limit: 2}); len(got) != 0 {
		t.Errorf("lapsed: got %q, want none", got)
	}
}

func TestAScanRefusesACursorThatIsNoneOfItsOwn(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "dedup.db"), sqlitestore.Options{})
	for _, after := range []string{"x", "1.2", "0.x.00", "0.1.zz", "-1.0.00", "9.0.00", "99999999999999999999.0.00"} {
		if _, err := s.Scan(t.Context(), store.Query{After: after, Limit: 1}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: got %v, want invalid", after, err)
		}
	}
	if _, err := s.Scan(t.Context(), store.Query{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no limit: got %v, want invalid", err)
	}
}

// scanned are the application and id of all records of a query, sorted.
func scanned(t *testing.T, s store.Scanner, q store.Query) (ids []string) {
	t.Helper()
	for pages := 0; ; pages++ {
		page, err := s.Scan(t.Context(), q)
		if err != nil || len(page.Records) > q.Limit || pages > 1000 {
			t.Fatalf("page %d of %+v: got %d records, %v", pages, q, len(page.Records), err)
		}
		for _, r := range page.Records {
			ids = append(ids, r.Key.Application+r.Key.ID)
		}
		if q.After = page.Next; q.After == "" {
			return sorted(ids)
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
