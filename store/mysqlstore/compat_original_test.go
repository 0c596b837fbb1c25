package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// originalTable makes the original's table as its documentation does, but for
// the comments.
const originalTable = "CREATE TABLE `t_rocketmq_dedup` (" +
	"`application_name` varchar(255) NOT NULL," +
	"`topic` varchar(255) NOT NULL," +
	"`tag` varchar(16) NOT NULL," +
	"`msg_uniq_key` varchar(255) NOT NULL," +
	"`status` varchar(16) NOT NULL," +
	"`expire_time` bigint(20) NOT NULL," +
	"UNIQUE KEY `uniq_key` (`application_name`,`topic`,`tag`,`msg_uniq_key`) USING BTREE" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8 ROW_FORMAT=COMPACT"

// dialects are how the original's driver may send its statements: their text
// with the values in it, or prepared.
var dialects = []string{
	"charset=utf8&interpolateParams=true", "charset=utf8mb4&interpolateParams=true",
	"charset=utf8", "charset=utf8mb4",
}

// place is a database of a test of its own: the name of the original's table is
// not ours to choose.
type place struct{ address, name string }

func newPlace(t testing.TB, address string) place {
	t.Helper()
	db, name := pool(t, address, "innodb_lock_wait_timeout=50"), "test_"+store.NewToken().String()
	must(t, db, "CREATE DATABASE "+name)
	t.Cleanup(func() { drop(t, db, "DATABASE "+name) })
	return place{address, name}
}

// open connects to the place. params are of the driver's DSN.
func (p place) open(t testing.TB, params string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+p.address+")/"+p.name+"?innodb_lock_wait_timeout=1&"+params)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	return db
}

// shared is a place with the original's table, upgraded, and a Store over it.
func shared(t testing.TB, address string, skew time.Duration) (place, *sql.DB, *mysqlstore.Store) {
	t.Helper()
	p := newPlace(t, address)
	db := p.open(t, "")
	must(t, db, originalTable)
	s := openCompat(t, db, skew)
	if err := s.Migrate(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	return p, db, s
}

func openCompat(t testing.TB, db *sql.DB, skew time.Duration) *mysqlstore.Store {
	t.Helper()
	s, err := mysqlstore.NewJavaCompatible(db, mysqlstore.Options{Skew: skew})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(within(t, ample), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// original is what a node of the Java original sends, statement by statement.
type original struct {
	db        *sql.DB
	expire    time.Duration // of its claims
	retention time.Duration // of done
	ahead     time.Duration // of its clock before the server's
}

func newOriginal(db *sql.DB) original { return original{db, time.Minute, 24 * time.Hour, 0} }

// now is what the original takes for the time.
func (o original) now() int64 { return time.Now().Add(o.ahead).UnixMilli() }

const identity = "application_name = ? AND topic = ? AND tag = ? AND msg_uniq_key = ?"

func (o original) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := o.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// What the original does with a message.
const (
	runs            = "runs it"
	runsUnprotected = "runs it without a claim"
	skips           = "skips it"
	sendsBack       = "sends it back"
)

// meets is what the original does with a message of that key. It leaves the
// record as the callback would find it. An error comes with what it makes of it.
func (o original) meets(ctx context.Context, k store.Key) (string, error) {
	_, err := o.exec(ctx, "INSERT INTO t_rocketmq_dedup(application_name, topic, tag, msg_uniq_key, status, expire_time) "+
		"values (?, ?, ?, ?, ?, ?)", k.Application, k.Topic, k.Tag, k.ID, "CONSUMING", o.now()+o.expire.Milliseconds())
	var answered *mysql.MySQLError
	switch {
	case err == nil:
		return runs, nil
	case !errors.As(err, &answered) || answered.Number != 1062:
		return runsUnprotected, err
	}
	n, err := o.exec(ctx, "DELETE FROM t_rocketmq_dedup  WHERE "+identity+" AND expire_time < ?",
		k.Application, k.Topic, k.Tag, k.ID, o.now())
	if err != nil {
		return sendsBack, err
	}
	if n > 0 {
		return o.meets(ctx, k)
	}
	return o.looks(ctx, k)
}

// looks is what follows when the key was not free.
func (o original) looks(ctx context.Context, k store.Key) (string, error) {
	var status string
	err := o.db.QueryRowContext(ctx, "SELECT status FROM t_rocketmq_dedup where "+identity+" and expire_time > ?",
		k.Application, k.Topic, k.Tag, k.ID, o.now()).Scan(&status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return sendsBack, nil
	case err != nil:
		return sendsBack, err
	case status == "CONSUMING":
		return sendsBack, nil
	case status == "CONSUMED":
		return skips, nil
	}
	return runsUnprotected, nil
}

func (o original) succeeds(ctx context.Context, k store.Key) error {
	_, err := o.exec(ctx, "UPDATE t_rocketmq_dedup SET status = ? , expire_time  = ? WHERE "+identity,
		"CONSUMED", o.now()+int64(o.retention/time.Minute)*60_000, k.Application, k.Topic, k.Tag, k.ID)
	return err
}

func (o original) fails(ctx context.Context, k store.Key) error {
	_, err := o.exec(ctx, "DELETE FROM t_rocketmq_dedup  WHERE "+identity, k.Application, k.Topic, k.Tag, k.ID)
	return err
}

func (o original) wantMeets(t testing.TB, k store.Key, want string) {
	t.Helper()
	if got, err := o.meets(within(t, ample), k); got != want || err != nil {
		t.Fatalf("the original %s (%v), want that it %s", got, err, want)
	}
}

func (o original) mustSucceed(t testing.TB, k store.Key) {
	t.Helper()
	if err := o.succeeds(within(t, ample), k); err != nil {
		t.Fatal(err)
	}
}

func (o original) mustFail(t testing.TB, k store.Key) {
	t.Helper()
	if err := o.fails(within(t, ample), k); err != nil {
		t.Fatal(err)
	}
}

// theirs is a row as the original's statements see it, its parts in hex.
type theirs struct {
	parts, status string
	expires       int64
}

// dump is the table as the original's statements see it.
func dump(t testing.TB, db *sql.DB) []theirs {
	t.Helper()
	rows, err := db.QueryContext(within(t, ample), "SELECT CONCAT_WS('|', HEX(application_name), HEX(topic), HEX(tag), "+
		"HEX(msg_uniq_key)) AS parts, status, expire_time FROM t_rocketmq_dedup ORDER BY parts")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() // Err has what matters
	var all []theirs
	for rows.Next() {
		var r theirs
		if err := rows.Scan(&r.parts, &r.status, &r.expires); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func hexKey(k store.Key) string {
	return fmt.Sprintf("%X|%X|%X|%X", k.Application, k.Topic, k.Tag, k.ID)
}

// wantRow wants the row of k to have that status, "" for none, and to expire
// just below d from now.
func wantRow(t testing.TB, db *sql.DB, k store.Key, status string, d time.Duration) {
	t.Helper()
	now, got := time.Now().UnixMilli(), theirs{}
	for _, r := range dump(t, db) {
		if r.parts == hexKey(k) {
			got = r
		}
	}
	left := time.Duration(got.expires-now) * time.Millisecond
	if got.status != status || status != "" && (left > d+time.Millisecond || left < d-10*time.Second) {
		t.Errorf("row of %q: got %q for %v, want %q for %v", k.ID, got.status, left, status, d)
	}
}
