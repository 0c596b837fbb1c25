package sqlitestore_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestAFullDiskAppliesNothingAndForgetsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	open(t, path, sqlitestore.Options{})
	s, err := sqlitestore.New(t.Context(), connect(t, path, "max_page_count(40)"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	full := -1
	var held []store.ClaimRequest
	for i := range 5000 {
		r := request(strings.Repeat("x", 200) + strconv.Itoa(i))
		v, err := s.Claim(t.Context(), r)
		if err != nil {
			if store.ClassOf(err) != store.NotApplied || !strings.Contains(err.Error(), "full") || strings.Contains(err.Error(), "xxx") {
				t.Errorf("got %v, want class not applied, the cause and no key", err)
			}
			full = i
			break
		}
		if v.State != store.Claimed {
			t.Fatal(v)
		}
		held = append(held, r)
	}
	if full < 0 {
		t.Fatal("the disk was never full")
	}
	claim(t, s, held[0].Key.ID, store.Busy)
	if got, err := s.Complete(t.Context(), held[0].Key, held[0].Token, keepTime); got != store.Completed {
		t.Errorf("a complete, which adds no row: got %v, %v", got, err)
	}
	more := open(t, path, sqlitestore.Options{}) // a disk with more room
	claim(t, more, strings.Repeat("x", 200)+strconv.Itoa(full), store.Claimed)
	claim(t, more, held[0].Key.ID, store.Done)
	for _, r := range held[1:] {
		claim(t, more, r.Key.ID, store.Busy)
	}
}

func TestATableThatIsGoneIsAPermanentError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{})
	r := claim(t, s, "1", store.Claimed)
	execute(t, connect(t, path), `ALTER TABLE dedup_record RENAME TO elsewhere`)
	_, err := s.Claim(t.Context(), request("2"))
	if store.ClassOf(err) != store.Permanent || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("claim: got %v, want a permanent error that says so", err)
	}
	if _, err := s.Get(t.Context(), r.Key); store.ClassOf(err) != store.Permanent {
		t.Errorf("get: got %v, want a permanent error", err)
	}
	if err := s.Check(t.Context()); store.ClassOf(err) != store.Permanent {
		t.Errorf("check: got %v, want a permanent error", err)
	}
}

func TestCheckFindsNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{Synchronous: "NORMAL"})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := count(t, path); n != 0 {
		t.Errorf("got %d rows, want none", n)
	}
}

func TestCheckFindsWhatWasDoneToTheTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s, db := open(t, path, sqlitestore.Options{}), connect(t, path)
	for statement, want := range map[string]string{
		`CREATE TRIGGER x BEFORE INSERT ON dedup_record BEGIN SELECT RAISE(IGNORE); END`:           "look for triggers",
		`CREATE TRIGGER x BEFORE INSERT ON dedup_record BEGIN SELECT RAISE(ABORT, 'not now'); END`: "not now",
	} {
		execute(t, db, statement)
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
		execute(t, db, `DROP TRIGGER x`)
	}
	execute(t, db, `ALTER TABLE dedup_record DROP COLUMN fence`)
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "fence is nothing") {
		t.Errorf("got %v, want the missing column", err)
	}
}

// count is how many rows the table has.
func count(t *testing.T, path string) (n int) {
	t.Helper()
	if err := connect(t, path).QueryRow(`SELECT count(*) FROM dedup_record`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
