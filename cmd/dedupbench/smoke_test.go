package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// played runs a small benchmark on the real servers and returns its exit code,
// what it printed and its outcome.
func played(t *testing.T, args ...string) (code int, printed string, o outcome) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	var out, log bytes.Buffer
	code = run(t.Context(), append([]string{
		"consume", "-namesrv", storetest.Server(t, "DEDUP_TEST_NAMESRV"), "-redis", storetest.Server(t, "DEDUP_TEST_REDIS"),
		"-callbacks", "8", "-messages", "2000", "-warmups", "0", "-reps", "1", "-out", file,
	}, args...), &out, &log)
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return code, log.String() + out.String(), o
}

func records(t *testing.T) (names []string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: storetest.Server(t, "DEDUP_TEST_REDIS")})
	defer client.Close()
	found := client.Scan(t.Context(), 0, "dedupbench-*", 1000).Iterator()
	for found.Next(t.Context()) {
		names = append(names, found.Val())
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryContenderKeepsItsPromiseOnRealServers(t *testing.T) {
	code, printed, o := played(t, "-batch", "1,4", "-dup", "20", "-work", "0")
	if code != 0 || len(o.Results) != 2 {
		t.Fatalf("got exit code %d and %d cells, want 0 and 2\n%s", code, len(o.Results), printed)
	}
	for _, r := range o.Results {
		for _, s := range r.Standings {
			if s.Rate == nil || s.Rate.Median <= 0 || s.Ratio == nil || s.CPU.Median <= 0 || s.P99 == nil || s.Server == nil {
				t.Errorf("%v: %s: figures are missing: %+v", r.Cell, s.Name, s)
			}
		}
		plain, hand, ours := r.Standings[0], r.Standings[1], r.Standings[2]
		// A message that met its running copy comes again and costs some more.
		if plain.Trips.Median != 0 || hand.Trips.Median < 2 || hand.Trips.Median > 2.2 || ours.Trips.Median <= 0 ||
			ours.Trips.Median > 2.2 {
			t.Errorf("%v: got %v, %v and %v round trips, want 0, 2 and at most about 2",
				r.Cell, plain.Trips.Median, hand.Trips.Median, ours.Trips.Median)
		}
	}
	if left := records(t); len(left) > 0 {
		t.Errorf("got %d records left behind, such as %s", len(left), left[0])
	}
}

func TestEveryContenderKeepsItsPromiseOnMySQL(t *testing.T) {
	for _, env := range []string{"DEDUP_TEST_MARIADB", "DEDUP_TEST_MYSQL"} {
		t.Run(env, func(t *testing.T) {
			address := storetest.Server(t, env)
			where := database(t, address)
			code, printed, o := played(t, "-batch", "4", "-dup", "20", "-work", "0", "-store", "mysql", "-mysql", where)
			if code != 0 || len(o.Results) != 1 || len(o.Results[0].Standings) != 3 {
				t.Fatalf("got exit code %d and %+v, want 0 and three contenders\n%s", code, o.Results, printed)
			}
			plain, hand, ours := o.Results[0].Standings[0], o.Results[0].Standings[1], o.Results[0].Standings[2]
			if local(address) && runtime.GOOS == "linux" && (hand.Server == nil || ours.Server == nil) {
				t.Error("got no processor time of a server on this machine")
			}
			// A copy costs by hand an INSERT, a DELETE and a SELECT, a fresh key an INSERT and an UPDATE.
			if plain.Trips.Median != 0 || hand.Trips.Median < 2 || hand.Trips.Median > 3 || ours.Trips.Median <= 0 ||
				ours.Trips.Median > 1.5 {
				t.Errorf("got %v, %v and %v round trips, want 0, 2.2 and at most about 1",
					plain.Trips.Median, hand.Trips.Median, ours.Trips.Median)
			}
			if !strings.Contains(o.Place, "innodb_flush_log_at_trx_commit 1") {
				t.Errorf("got the place %q, want it to say how durable a commit is", o.Place)
			}
			if left := tables(t, where); len(left) > 0 {
				t.Errorf("got tables left behind: %v", left)
			}
		})
	}
}

// database is one of this test alone, as a DSN.
func database(t *testing.T, address string) (where string) {
	t.Helper()
	db, err := mysqlPool(t.Context(), address, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + store.NewToken().String()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		_ = db.Close() // nothing is on its way
	})
	return "root@tcp(" + address + ")/" + name
}

// tables are all in a database.
func tables(t *testing.T, where string) (names []string) {
	t.Helper()
	db, err := mysqlPool(t.Context(), where, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SHOW TABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestAFileOfSQLiteIsGoneInTheEnd(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	code, printed, o := played(t, "-batch", "4", "-dup", "20", "-work", "0", "-store", "sqlite")
	if code != 0 || len(o.Results) != 1 || !strings.Contains(o.Place, "SQLite 3.") {
		t.Fatalf("got exit code %d, %+v and the place %q, want 0, one cell and SQLite\n%s", code, o.Results, o.Place, printed)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "dedupbench*")); err != nil || len(left) > 0 {
		t.Errorf("got %v left behind, %v", left, err)
	}
}

func TestACellIsInvalidWhenACopyRuns(t *testing.T) {
	again := "again=" + contenderEnv(plainName) // claims to be another but runs every copy
	readme := filepath.Join(t.TempDir(), "README.md")
	begin, end := marks(inRedis)
	if err := os.WriteFile(readme, []byte(begin+"old\n"+end), 0o644); err != nil {
		t.Fatal(err)
	}
	code, printed, o := played(t, "-batch", "1", "-dup", "20", "-work", "0",
		"-contenders", "plain", "-contender", again, "-write", readme)
	if code != 1 || len(o.Results) != 1 || len(o.Results[0].Invalid) != 1 {
		t.Fatalf("got exit code %d and %+v, want 1 and one invalid run\n%s", code, o.Results, printed)
	}
	if want := "again, repetition 1: invalid: 400 runs beyond the first of a key, want 0"; o.Results[0].Invalid[0] != want {
		t.Errorf("got %q, want %q", o.Results[0].Invalid[0], want)
	}
	if text, err := os.ReadFile(readme); err != nil || !strings.Contains(string(text), "old") {
		t.Errorf("got %v and %q, want the README as it was", err, text)
	}
	if !strings.Contains(printed, "(INVALID)") || !strings.Contains(printed, "1 cells are invalid") {
		t.Errorf("got no mark in\n%s", printed)
	}
}

// contenderEnv is a command that behaves as one of our own contenders.
func contenderEnv(name string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return envPrefix + "CONTENDER=" + name + " '" + self + "' " + contendVerb
}

func TestMemoryAndPaceOnARealBroker(t *testing.T) {
	code, printed, o := played(t, "-batch", "1", "-dup", "0", "-work", "1ms", "-rate", "2000", "-store", "memory")
	if code != 0 || len(o.Results) != 1 || len(o.Results[0].Standings) != 2 {
		t.Fatalf("got exit code %d and %+v, want 0 and two contenders\n%s", code, o.Results, printed)
	}
	for _, s := range o.Results[0].Standings {
		if s.Rate.Median > 2010 || s.Trips.Median != 0 {
			t.Errorf("%s: got %v messages/s and %v trips, want at most 2000/s and none", s.Name, s.Rate.Median, s.Trips.Median)
		}
	}
}
