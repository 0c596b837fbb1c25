package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

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
			if s.Rate == nil || s.Rate.Median <= 0 || s.Ratio == nil || s.CPU.Median <= 0 || s.P99 == nil || s.Redis == nil {
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

func TestACellIsInvalidWhenACopyRuns(t *testing.T) {
	again := "again=" + contenderEnv(plainName) // claims to be another but runs every copy
	readme := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(readme, []byte(blockBegin+"old\n"+blockEnd), 0o644); err != nil {
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
