//go:build unix

package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestDemoShowsTheSameWithEveryStore(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]func(*testing.T) string{
		"memory": func(*testing.T) string { return "memory" },
		"redis":  func(t *testing.T) string { return "redis://" + storetest.Server(t, "DEDUP_TEST_REDIS") + "/0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr := once(t, 0, "demo", "-json", "-messages", "200", "-store", records(t))
			var r demo.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatalf("got %q, want one JSON object: %v", stdout, err)
			}
			if r.Without.Extra == 0 || r.With.Extra != 0 || r.With.Lost != 0 || r.With.Ran != 200 || r.With.Skipped == 0 {
				t.Errorf("got %+v, want extra charges without dedup only, and none lost\n%s", r, stderr)
			}
		})
	}
}

func TestADemoWithoutItsServersSaysSo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-store", "redis://127.0.0.1:1"}, {"-namesrv", "127.0.0.1:1"}} {
		stdout, stderr := once(t, 1, append([]string{"demo"}, args...)...)
		wantSays(t, stderr, "127.0.0.1:1")
		if stdout != "" {
			t.Errorf("%s: got %q on standard output, want nothing", args, stdout)
		}
	}
}

func TestARefusedStoreIsNotToldWithItsPassword(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"redis://user:hush@host:port", "memory:hush", "hush", ""} {
		_, stderr := once(t, 2, "demo", "-store", where)
		wantSays(t, stderr, "-store wants memory or redis://")
		if strings.Contains(stderr, "hush") {
			t.Errorf("%s: got %q, want no part of what was given", where, stderr)
		}
	}
}

func wantSays(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want it to say %q", got, want)
	}
}
