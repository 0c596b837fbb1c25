//go:build unix

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestDemoShowsTheSameWithEveryStore(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]func(*testing.T) string{
		"memory": func(*testing.T) string { return "memory" },
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "dedup.db") },
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

// It is killed again and again, and the same orders are sent again each time.
func TestADemoThatIsKilledChargesNothingThatWasRecordedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dedup.db")
	args := []string{"demo", "-json", "-messages", "500", "-seed", "7", "-store", "sqlite:" + file}
	settled := map[string]bool{} // charged and recorded before a kill
	for _, enough := range []int{20, 90} {
		p := call(t, nil, args...)
		eventually(t, fmt.Sprintf("%d orders are recorded", enough), func() bool {
			return len(ledgerOf(t, file).recorded) >= enough
		})
		p.signal(t, syscall.SIGKILL)
		<-p.ended
		l := ledgerOf(t, file)
		if len(l.recorded) == 500 {
			t.Fatal("it was killed too late to show anything")
		}
		for order := range l.recorded {
			settled[order] = true
		}
		if l.chargedAgain != 0 {
			t.Errorf("%d orders were charged after they were recorded", l.chargedAgain)
		}
	}
	stdout, stderr := once(t, 0, args...)
	wantSays(t, stderr, "were charged and recorded before")
	l := ledgerOf(t, file)
	if l.chargedAgain != 0 || len(l.charged) != 500 {
		t.Errorf("got %d orders charged after they were recorded and %d charged, want 0 and 500", l.chargedAgain, len(l.charged))
	}
	var r demo.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("got %q, want one JSON object: %v", stdout, err)
	}
	if w := r.With; w.Extra != 0 || w.Lost != 0 || w.Ran > 500-len(settled) || w.Skipped < len(settled) {
		t.Errorf("got %+v, want nothing lost and the %d recorded orders skipped", w, len(settled))
	}
}

// ledgerFile is what a demo has written down.
type ledgerFile struct {
	charged      map[string]bool
	recorded     map[string]bool // a kill may have come between the record and its line
	chargedAgain int             // after the line that it was recorded
}

func ledgerOf(t *testing.T, database string) ledgerFile {
	t.Helper()
	l := ledgerFile{charged: map[string]bool{}, recorded: map[string]bool{}}
	text, err := os.ReadFile(database + ".ledger")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch word, order, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case word == "recorded":
			l.recorded[order] = true
		case l.recorded[order]:
			l.chargedAgain++
		default:
			l.charged[order] = true
		}
	}
	return l
}

// A store that forgets what a killed demo has recorded is caught.
func TestALedgerTellsWhenRecordsWereLost(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(file, []byte("charged A-000001\nrecorded A-000001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := once(t, 1, "demo", "-messages", "20", "-store", "memory", "-ledger", file)
	wantSays(t, stderr, "extra=1 lost=0")
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
	for _, where := range []string{"redis://user:hush@host:port", "memory:hush", "hush", "sqlite:", ""} {
		_, stderr := once(t, 2, "demo", "-store", where)
		wantSays(t, stderr, "-store wants memory, sqlite:FILE or redis://")
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
