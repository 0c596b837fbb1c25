package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestEveryWrongOptionIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := sqlitestore.Open(t.Context(), "", sqlitestore.Options{
		Table: `x" (a); DROP TABLE y; --`, Synchronous: "OFF", BusyTimeout: -1,
	})
	for _, want := range []string{"path", "Options.Table", "Options.Synchronous", "Options.BusyTimeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

func TestNoNameOfATableIsAnythingButAName(t *testing.T) {
	t.Parallel()
	for _, table := range []string{
		"a b", `a"b`, "a;b", "a.b", "a-b", "1a", "é", "a\x00", "sqlite_master", "SQLite_x", strings.Repeat("a", 65), "'a'", "[a]",
	} {
		if _, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "db"), sqlitestore.Options{Table: table}); err == nil {
			t.Errorf("table %q was accepted", table)
		}
	}
	path := filepath.Join(t.TempDir(), "db")
	for _, table := range []string{"select", "ORDER", "_", "a1", strings.Repeat("a", 64)} {
		s := open(t, path, sqlitestore.Options{Table: table})
		claim(t, s, "1", store.Claimed)
		claim(t, s, "1", store.Busy)
	}
}

func TestAnyPathIsThatOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a b", "a?mode=memory", "a#b", "a%20b", "a%00", "订单", "a&b", "a'b", `a"b`, "a:b"} {
		s := open(t, filepath.Join(dir, name), sqlitestore.Options{})
		claim(t, s, "1", store.Claimed)
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"", ":memory:", "a\x00b"} {
		if _, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}); err == nil {
			t.Errorf("path %q was accepted", path)
		}
	}
}

func TestManyStoresOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	var all sync.WaitGroup
	start := make(chan struct{})
	for range 16 {
		all.Go(func() {
			<-start
			s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{BusyTimeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(s.Check(context.Background()), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
	claim(t, open(t, path, sqlitestore.Options{}), "1", store.Claimed)
}

func TestAFileThatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.txt")
	text := strings.Repeat("these are orders, not records\n", 100)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "not a database", "give another path")
	if after, err := os.ReadFile(path); err != nil || string(after) != text {
		t.Errorf("got %d bytes, %v; want the file as it was", len(after), err)
	}
}

func TestAPlaceThatTakesNoFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused(t, filepath.Join(dir, "missing", "dedup.db"), "unable to open", "the folder must exist")
	refused(t, dir, "unable to open", "the folder must exist")
}

func TestATableOfAnotherShapeIsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"another table":     {before: `CREATE TABLE dedup_record (id INTEGER PRIMARY KEY, status TEXT)`, want: "key_hash is nothing, want BLOB"},
		"a view":            {before: `CREATE VIEW dedup_record AS SELECT 1`, want: `"dedup_record" is of the kind view, want table`},
		"a table for index": {before: `CREATE TABLE dedup_record_expiry (x)`, want: `"dedup_record_expiry" is of the kind table, want index`},
		"a lost column":     {after: `ALTER TABLE dedup_record DROP COLUMN fence`, want: "fence is nothing, want INTEGER"},
		"another type":      {after: `ALTER TABLE dedup_record DROP COLUMN fence; ALTER TABLE dedup_record ADD COLUMN fence TEXT`, want: "fence is TEXT"},
		"upper case":        {before: `CREATE TABLE DEDUP_RECORD (id)`, want: "has another shape"},
	} {
		path := filepath.Join(t.TempDir(), "dedup.db")
		if c.after != "" {
			s := open(t, path, sqlitestore.Options{})
			claim(t, s, "1", store.Claimed)
		}
		execute(t, connect(t, path), c.before+c.after)
		t.Run(name, func(t *testing.T) { refused(t, path, c.want, "give Options.Table another name") })
	}
}

func TestATableOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	open(t, path, sqlitestore.Options{})
	execute(t, connect(t, path), `UPDATE dedup_record_schema SET version = 2`)
	refused(t, path, "is of version 2", "update the program")
}

func TestWhatOthersAddToTheTableDoesNotMatter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	open(t, path, sqlitestore.Options{})
	db := connect(t, path)
	execute(t, db, `ALTER TABLE dedup_record ADD COLUMN note TEXT; DROP INDEX dedup_record_expiry; CREATE TABLE orders (id)`)
	claim(t, open(t, path, sqlitestore.Options{}), "1", store.Claimed)
	var indexes int
	if err := db.QueryRow(`SELECT count(*) FROM pragma_index_list('dedup_record') WHERE name = 'dedup_record_expiry'`).
		Scan(&indexes); err != nil || indexes != 1 {
		t.Errorf("got %d indexes, %v; want the missing one back", indexes, err)
	}
}

func TestARecordStandsBesideTheTablesOfAnApplication(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	db := connect(t, path)
	execute(t, db, `CREATE TABLE orders (id)`)
	s, err := sqlitestore.New(t.Context(), db, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	claim(t, s, "1", store.Claimed)
	execute(t, db, `INSERT INTO orders VALUES (1)`)
	claim(t, s, "1", store.Busy)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("close twice: %v", err)
	}
	if _, err := s.Claim(t.Context(), request("2")); store.ClassOf(err) != store.Permanent {
		t.Errorf("a claim after close: got %v, want a permanent error", err)
	}
	execute(t, db, `INSERT INTO orders VALUES (2)`) // it is the application's, and still open
}

func TestADatabaseThatCannotHoldRecordsIsRefused(t *testing.T) {
	t.Parallel()
	one := connect(t, filepath.Join(t.TempDir(), "one.db"))
	one.SetMaxOpenConns(1)
	memory, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for want, db := range map[string]*sql.DB{
		"db is nil": nil, "SetMaxOpenConns(2)": one, `the journal mode is "memory"`: memory,
	} {
		if _, err := sqlitestore.New(t.Context(), db, sqlitestore.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestAReadOnlyDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	claim(t, open(t, path, sqlitestore.Options{}), "1", store.Claimed)
	ro, err := sql.Open("sqlite", "file://"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	for name, db := range map[string]*sql.DB{"mode=ro": ro, "query_only": connect(t, path, "query_only(1)")} {
		_, err := sqlitestore.New(t.Context(), db, sqlitestore.Options{})
		if store.ClassOf(err) != store.Permanent || !strings.Contains(fmt.Sprint(err), "readonly") {
			t.Errorf("%s: got %v, want a permanent error that says so", name, err)
		}
	}
}

// refused wants Open to fail for good and to say all that.
func refused(t *testing.T, path string, wants ...string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened, want an error that says %q", wants)
	}
	if store.ClassOf(err) != store.Permanent {
		t.Errorf("got %v, want a permanent error", err)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func claim(t testing.TB, s store.Store, id string, want store.State) store.ClaimRequest {
	t.Helper()
	r := request(id)
	if v, err := s.Claim(t.Context(), r); v.State != want {
		t.Fatalf("claim %s: got %v, %v; want %v", id, v.State, err, want)
	}
	return r
}

func execute(t testing.TB, db *sql.DB, statements string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statements, args...); err != nil {
		t.Fatal(err)
	}
}
