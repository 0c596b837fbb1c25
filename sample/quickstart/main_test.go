package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
)

var seeds = flag.Int("seeds", 1, "how often TestEverySeed runs the quickstart; also give -parallel 8")

// binary is the program under test. It is built without the race detector: the
// client's Shutdown races with its own rebalance.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "quickstart-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "quickstart")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// call runs the quickstart and returns its exit code.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestEverySeed(t *testing.T) {
	t.Parallel()
	plays := make([]demo.Report, *seeds)
	t.Run("runs", func(t *testing.T) {
		for i := range plays {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				plays[i] = play(t, i+1)
			})
		}
	})
	doubled, longest := 0, 0.0
	for _, r := range plays {
		if r.Without.Extra > 0 {
			doubled++
		}
		longest = max(longest, r.Without.Seconds+r.With.Seconds)
	}
	t.Logf("%d runs, the longest of %.1f s; without dedup %d charged too often", len(plays), longest, doubled)
	if doubled*100 < len(plays)*95 {
		t.Errorf("without dedup only %d of %d runs charged too often, want nearly all", doubled, len(plays))
	}
}

// play runs one seed and wants nothing lost or doubled with dedup.
func play(t *testing.T, seed int) (r demo.Report) {
	t.Helper()
	code, stdout, stderr := call(t, "-json", "-seed", fmt.Sprint(seed))
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("got %q on standard output, want one JSON object: %v\n%s", stdout, err, stderr)
	}
	w := r.With
	if code != 0 || w.Extra != 0 || w.Lost != 0 || w.Ran != w.Distinct {
		t.Errorf("got exit code %d and %+v, want 0, nothing lost and nothing charged twice\n%s", code, w, stderr)
	}
	if w.Sent <= w.Distinct || w.Skipped < w.Sent-w.Distinct || r.Without.Sent != w.Sent {
		t.Errorf("got %+v, want the same resends in both plays, all of them skipped with dedup", r)
	}
	if r.Without.Skipped != 0 || r.Without.Deferred != 0 || r.Without.Lost != 0 {
		t.Errorf("without dedup: got %+v, want nothing skipped, deferred or lost", r.Without)
	}
	for _, step := range []string{"without dedup\n", "with dedup\n", "joins", "stopped", "cut off", "done"} {
		if !strings.Contains(stderr, step) {
			t.Errorf("progress does not tell %q:\n%s", step, stderr)
		}
	}
	return r
}

func TestTheTableHasARowForEachPlay(t *testing.T) {
	t.Parallel()
	code, stdout, _ := call(t, "-messages", "40", "-resend", "100", "-consumers", "3")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(lines) != 3 {
		t.Fatalf("got exit code %d and %q, want 0 and three lines", code, stdout)
	}
	for i, want := range []string{"sent distinct ran extra skipped deferred lost seconds",
		"without dedup 80 40 ", "with dedup 80 40 40 0 "} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("got line %q, want %q…", got, want)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"-messages 0 -resend 101 -consumers 1": {"-messages", "-resend", "-consumers"},
		"-consumers 21":                        {"-consumers is 21, want 2 to 20"},
		"now":                                  {`"now" is not a flag`},
	} {
		code, stdout, stderr := call(t, strings.Fields(args)...)
		if code != 2 || stdout != "" {
			t.Errorf("%s: got exit code %d and %q, want 2 and nothing", args, code, stdout)
		}
		for _, text := range want {
			if !strings.Contains(stderr, text) {
				t.Errorf("%s: got %q, want it to say %q", args, stderr, text)
			}
		}
	}
}

func TestABrokerThatIsNotThereIsToldOf(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := call(t, "-namesrv", "127.0.0.1:1")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "name server 127.0.0.1:1") {
		t.Errorf("got exit code %d, %q and %q, want 1 and the name server's address", code, stdout, stderr)
	}
}

var unwanted = regexp.MustCompile(`sqlite|mysql|postgres|redis|prometheus|opentelemetry|metrics|viper|^testing`)

// Who only looks waits for nothing but what consuming needs.
func TestItLinksNoDriverAndNoMetrics(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, p := range packages {
		// database/sql, whose transactions the listener knows, is no driver.
		if unwanted.MatchString(p) {
			t.Errorf("it links %s", p)
		}
	}
	if !slices.Contains(packages, "github.com/apache/rocketmq-client-go/v2") {
		t.Errorf("got %q, want the client among them", packages)
	}
}
