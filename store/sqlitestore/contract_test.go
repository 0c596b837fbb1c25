package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sqlitestore.Options{
		"full": {}, "normal": {Synchronous: "NORMAL", Table: "records"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "dedup.db")
			s := open(t, path, o)
			table := o.Table
			if table == "" {
				table = "dedup_record"
			}
			storetest.Run(t, storetest.Harness{
				New:   func(testing.TB) store.Store { return s },
				Hooks: hooks(connect(t, path), table),
			})
		})
	}
}

// hooks reach into the table by a connection of their own.
func hooks(db *sql.DB, table string) storetest.Hooks {
	change := func(set string, value any) func(context.Context, store.Store, store.Key) error {
		return func(ctx context.Context, _ store.Store, k store.Key) error {
			h := sqlrecord.Hash(k.Bounded())
			_, err := db.ExecContext(ctx, `UPDATE `+table+` SET `+set+` = ? WHERE key_hash = ?`, value, h[:])
			return err
		}
	}
	return storetest.Hooks{
		Corrupt:   change("status", "?"),
		WrongType: nil, // a column of SQLite takes any type, which is a record that nobody understands
		Persist:   change("expire_time", int64(math.MaxInt64)),
		HasExpiry: func(ctx context.Context, _ store.Store, k store.Key) (bool, error) {
			var expires int64
			h := sqlrecord.Hash(k.Bounded())
			err := db.QueryRowContext(ctx, `SELECT expire_time FROM `+table+` WHERE key_hash = ?`, h[:]).Scan(&expires)
			if errors.Is(err, sql.ErrNoRows) {
				return false, nil
			}
			return expires > 0 && expires < math.MaxInt64, err
		},
		Silent: silent,
	}
}

// silent is a store on a file that another connection has locked.
func silent(t testing.TB) store.Store {
	path := filepath.Join(t.TempDir(), "silent.db")
	s := open(t, path, sqlitestore.Options{BusyTimeout: time.Minute})
	lock(t, path)
	return s
}

// lock holds the write lock of the file until the test ends.
func lock(t testing.TB, path string) (unlock func()) {
	t.Helper()
	c, err := connect(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(t.Context(), `BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	unlock = sync.OnceFunc(func() {
		if _, err := c.ExecContext(context.Background(), `ROLLBACK`); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
	t.Cleanup(unlock)
	return unlock
}

func open(t testing.TB, path string, o sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect opens the file past the store. What pragmas name is set on every
// connection.
func connect(t testing.TB, path string, pragmas ...string) *sql.DB {
	t.Helper()
	q := url.Values{"_pragma": append([]string{"busy_timeout(20000)"}, pragmas...)}
	db, err := sql.Open("sqlite", "file://"+path+"?"+q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
