package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// readers are the connections for what only reads.
const readers = 4

// Open opens the database in the file of that path, or creates it, and returns
// a store on it. Several processes may do so at once. Close the store at the end.
//
// All that is wrong with the options is reported at once. A file that is no
// database, that nobody may write to, or whose table is of another shape is
// reported with its remedy and left as it is.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.withDefaults()
	var pathErr error
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		pathErr = fmt.Errorf("path is %q, want that of a file; for records in memory use memstore", path)
	}
	if err := errors.Join(pathErr, o.validate()); err != nil {
		return nil, fmt.Errorf("sqlitestore: open: %w", err)
	}
	source, err := sourceName(path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: open %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1 + readers)
	s := &Store{options: o, db: db, owned: true}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(startFailed("open "+path, err), db.Close())
	}
	return s, nil
}

// sourceName is the path as the driver wants it: a URI, in which no character of
// a path means anything else.
func sourceName(path string, o Options) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	busy := fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds())
	return (&url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {busy}}.Encode()}).String(), nil
}

// New returns a store on a table of db, a database of the driver "sqlite" of
// modernc.org/sqlite, in a file. The application may go on using db. The store
// takes one connection of it until it is closed, and others for a moment to
// read. Close the store before db.
//
// The database is set to the journal mode WAL, which it keeps.
func New(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	o = o.withDefaults()
	var dbErr error
	switch {
	case db == nil:
		dbErr = errors.New("db is nil")
	case db.Stats().MaxOpenConnections == 1:
		dbErr = errors.New("db has one connection, which the store would keep; SetMaxOpenConns(2) or more")
	}
	if err := errors.Join(dbErr, o.validate()); err != nil {
		return nil, fmt.Errorf("sqlitestore: new: %w", err)
	}
	s := &Store{options: o, db: db}
	if err := s.start(ctx); err != nil {
		return nil, startFailed("new", err)
	}
	return s, nil
}

// start makes the database ready and the connection that writes.
func (s *Store) start(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, conn); err != nil {
		return errors.Join(err, discard(conn))
	}
	w, err := newWriter(ctx, conn, s.options.Table)
	if err != nil {
		return err
	}
	s.line = &line{writer: w, busy: s.options.BusyTimeout}
	return nil
}

// prepare sets what the connection needs and makes the tables. To begin a write
// transaction also shows that the file can be written to.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	// SQLite's own waiting would wait for too long, see line.lock.
	if _, err := c.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return err
	}
	return s.patiently(ctx, func() error {
		var mode string
		if err := c.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" {
			return fmt.Errorf("the journal mode is %q and cannot be \"wal\"; use a file on a local disk", mode)
		}
		if _, err := c.ExecContext(ctx, `PRAGMA synchronous = `+s.options.Synchronous); err != nil {
			return err
		}
		return s.makeTables(ctx, c)
	})
}

func (s *Store) makeTables(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := ensureSchema(ctx, c, s.options.Table)
	if err == nil {
		_, err = c.ExecContext(ctx, `COMMIT`)
	}
	if err != nil {
		_, _ = c.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) // which SQLite may have done
	}
	return err
}

// patiently repeats what fails because another connection has the lock.
func (s *Store) patiently(ctx context.Context, do func() error) error {
	for since := time.Now(); ; {
		err := do()
		if !isBusy(err) || time.Since(since) > s.options.BusyTimeout {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Close waits for the calls that are under way, refuses all others and gives the
// connections back; after [Open] it closes the database. A second Close does nothing.
func (s *Store) Close() error {
	if first := s.line.close(); !first {
		return nil
	}
	errs := []error{s.line.writer.close()}
	if s.owned {
		errs = append(errs, s.db.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return failed("close", store.NotApplied, err)
	}
	return nil
}

func (s *Store) named(text string) string { return named(text, s.options.Table) }
