package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// sqliteFiles is for records in a file of each run, in the folder for temporary
// files.
type sqliteFiles struct{ noServer }

func (sqliteFiles) about(ctx context.Context) string {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "SQLite"
	}
	defer db.Close()
	var version string
	_ = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version) // empty if it does not say
	return "SQLite " + version + ", synchronous FULL"
}

func (sqliteFiles) forget(s stage) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(sqliteFile(s) + suffix) // the last two are there after a crash only
	}
}

func sqliteFile(s stage) string { return filepath.Join(os.TempDir(), s.Table+".db") }

// inSQLiteStore is the store that ours uses with a file.
func inSQLiteStore(ctx context.Context, s stage) (store.Store, func() error, error) {
	records, err := sqlitestore.Open(ctx, sqliteFile(s), sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	return records, records.Close, nil
}
