package sqlitestore_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// SQLite keeps any value in any column.
func TestARowOfWrongValuesIsCorruptAndIsRepairedByAComplete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s, db := open(t, path, sqlitestore.Options{}), connect(t, path)
	for _, set := range []string{
		"status = 'consumed'", "status = x'00'", "status = 7", "status = ''", "owner = 'text'", "owner = x'00'",
		"attempts = -1", "attempts = 'many'", "attempts = 1.5", "attempts = 9223372036854775807", "lease_ms = 0",
		"lease_ms = 9223372036854775807", "horizon_ms = -1", "keep_ms = x'01'", "fence = -1", "fence = 'x'",
		"expire_time = 'never'", "expire_time = 1e300", "status = 'CONSUMED', keep_ms = 0",
	} {
		r := claim(t, s, set, store.Claimed)
		execute(t, db, `UPDATE dedup_record SET `+set+` WHERE id = ?`, []byte(set))
		for _, token := range []store.Token{r.Token, store.NewToken()} {
			r.Token = token
			if v, err := s.Claim(t.Context(), r); v.State != store.Corrupt || err != nil {
				t.Errorf("%s: got %v, %v, want corrupt", set, v, err)
			}
			if err := s.Release(t.Context(), r.Key, r.Token, true); !errors.Is(err, store.ErrNotOwner) {
				t.Errorf("%s: release: got %v, want not owner", set, err)
			}
		}
		if got, err := s.Get(t.Context(), r.Key); got.Status != store.StatusCorrupt || err != nil {
			t.Errorf("%s: get: got %+v, %v, want corrupt", set, got, err)
		}
		if got, err := s.Complete(t.Context(), r.Key, r.Token, keepTime); got != store.Repaired || err != nil {
			t.Errorf("%s: complete: got %v, %v, want repaired", set, got, err)
		}
		claim(t, s, set, store.Done)
	}
}

func FuzzRow(f *testing.F) {
	f.Add("CONSUMING", []byte("0123456789abcdef"), int64(1), int64(30000), int64(60000), int64(0), int64(0), int64(1<<40))
	f.Add("CONSUMED", make([]byte, 16), int64(1), int64(0), int64(0), int64(1), int64(9), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, status string, owner []byte, attempts, lease, horizon, keep, fence, expires int64) {
		const now = int64(1) << 40
		most := store.MaxDuration.Milliseconds()
		row := sqlitestore.Decode([8]any{status, owner, attempts, lease, horizon, keep, fence, expires})
		if row.Status != "" && (row.Status != status || row.Owner.String() != hexOf(owner) || row.Attempts != attempts ||
			row.Expires != expires || row.Fence != fence) {
			t.Errorf("got %+v from %q %x %d %d %d", row, status, owner, attempts, fence, expires)
		}
		if row.Lease < 0 || row.Lease > most || row.Horizon < 0 || row.Horizon > most || row.Keep < 0 || row.Keep > most {
			t.Errorf("got %+v, want durations of the contract", row)
		}
		if v := row.Record(now); v.Attempt < 0 || v.ExpiresIn > 2*store.MaxDuration || v.LeaseLeft > store.MaxDuration {
			t.Errorf("got %+v of %+v, want what a store can say", v, row)
		}
		before := row
		_, v, err := row.Claim(request("1"), now)
		if v.State == store.Claimed && !before.Absent(now) && !strings.Contains("CONSUMING RELEASED", before.Status) {
			t.Errorf("%+v was granted: %v, %v", before, v, err)
		}
		if row.Status != "" && row.Expires-now > 2*most {
			t.Errorf("got %+v after a claim, want an expiry within a life", row)
		}
	})
}

func hexOf(owner []byte) string {
	var t store.Token
	copy(t[:], owner)
	return t.String()
}
