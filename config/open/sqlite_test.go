package open_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func atFile(t *testing.T) config.Config {
	t.Helper()
	c := configured()
	c.Store.Type = "sqlite"
	c.Store.SQLite.File = filepath.Join(t.TempDir(), "records.db")
	return c
}

func TestRecordsInAFileSurviveTheStore(t *testing.T) {
	t.Parallel()
	c := atFile(t)
	c.Store.SQLite.Synchronous = "normal"
	works(t, c)
	s, closeStore, err := open.Store(t.Context(), c)
	must(t, err)
	k, token := store.Key{Application: "app", Topic: "orders", ID: "A1"}, store.NewToken()
	_, err = s.Complete(t.Context(), k, token, time.Hour)
	must(t, err)
	must(t, closeStore())
	s, closeStore, err = open.Store(t.Context(), c)
	must(t, err)
	v, err := s.Claim(t.Context(), store.ClaimRequest{Key: k, Token: store.NewToken(), Lease: time.Minute, Horizon: time.Hour})
	if err != nil || v.State != store.Done {
		t.Errorf("got %v, %v, want done", v.State, err)
	}
	must(t, closeStore())
}

func TestExpiredRecordsInAFileAreSwept(t *testing.T) {
	t.Parallel()
	c := atFile(t)
	c.Store.Sweep.Enabled = false
	leaveExpired(t, c)
	db, err := sql.Open("sqlite", c.Store.SQLite.File)
	must(t, err)
	defer db.Close()
	rows := func() (n int) {
		must(t, db.QueryRow("SELECT COUNT(*) FROM dedup_record").Scan(&n))
		return n
	}
	if n := rows(); n != 1 {
		t.Fatalf("without a sweep: got %d rows, want 1", n)
	}
	c.Store.Sweep = config.Sweep{Enabled: true, Every: 10 * time.Millisecond, Batch: 10, Share: 1}
	_, closeStore, err := open.Store(t.Context(), c)
	must(t, err)
	for began := time.Now(); rows() > 0 && time.Since(began) < ample; {
		time.Sleep(5 * time.Millisecond)
	}
	if n := rows(); n != 0 {
		t.Errorf("got %d rows, want the expired one swept", n)
	}
	must(t, closeStore())
}

func TestFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	nowhere := atFile(t)
	nowhere.Store.SQLite.File = filepath.Join(t.TempDir(), "nowhere", "records.db")
	fails(t, nowhere, "store.sqlite.file")

	text := atFile(t)
	must(t, os.WriteFile(text.Store.SQLite.File, []byte("this is no database, but a text of some length"), 0o600))
	fails(t, text, "store.sqlite.file")

	other := atFile(t)
	db, err := sql.Open("sqlite", other.Store.SQLite.File)
	must(t, err)
	_, err = db.Exec("CREATE TABLE dedup_record (id INTEGER)")
	must(t, err)
	must(t, db.Close())
	fails(t, other, "store.sqlite.table")
	other.Store.SQLite.Table = "another"
	works(t, other)
}
