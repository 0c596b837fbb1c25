//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// once calls dedupctl and waits for its end.
func once(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := call(t, nil, args...)
	p.exits(t, code)
	return p.stdout.String(), p.stderr.String()
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "consumer.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const valid = `
rocketmq: {name_servers: ["127.0.0.1:1"], group: billing}
store: {redis: {addrs: ["127.0.0.1:1"]}}
topics: [{name: orders, key: "json:order.no"}]
`

// Both are to be told at once.
const twiceWrong = `
rocketmq: {name_servers: ["127.0.0.1:1"], group: billing}
store: {redis: {addrs: ["127.0.0.1:1"]}}
topics: [{name: orders, key: "order.no", lease: 30}]
`

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	f := file(t, valid)
	for _, row := range []struct {
		args string
		want []string
	}{
		{"", []string{"what to do is missing", "Usage:", "dedupctl consume"}},
		{"consumer", []string{"unknown: consumer", "Usage:"}},
		{"config", []string{"unknown: config", "dedupctl config validate FILE"}},
		{"config validate", []string{"want one FILE"}},
		{"consume", []string{"-config is missing, -exec is missing"}},
		{"consume -config " + f + " -exec true more", []string{`"more" is not a flag`}},
		{"consume -config " + f + " -exec true -kill-after -1s", []string{"-kill-after"}},
		{"consume -verbose", []string{"-verbose"}},
		{"produce -config " + f + " -topic orders -key A -body a -file b -resend 101 -count -1",
			[]string{"-body and -file", "-resend", "-count"}},
		{"produce -config " + f, []string{"-topic is missing, -key is missing"}},
		{"demo -messages 0 -consumers 1 -resend 101", []string{"-messages", "-consumers", "-resend"}},
		{"demo redis", []string{`"redis" is not a flag`}},
	} {
		stdout, stderr := once(t, 2, strings.Fields(row.args)...)
		for _, want := range row.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q: got %q, want it to say %q", row.args, stderr, want)
			}
		}
		if stdout != "" {
			t.Errorf("%q: got %q on standard output, want nothing", row.args, stdout)
		}
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"help": "dedupctl produce", "-h": "dedupctl produce", "--help": "Exit codes:",
		"consume -h": "DEDUP_TOPIC", "produce -h": "-resend PERCENT",
		"demo -h": "-store STORE", "version": "dedupctl ",
	} {
		stdout, stderr := once(t, 0, strings.Fields(args)...)
		if !strings.Contains(stdout, want) || stderr != "" {
			t.Errorf("%s: got %q and %q, want %q on standard output", args, stdout, stderr, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	stdout, stderr := once(t, 0, "config", "validate", file(t, valid))
	if stdout != "ok\n" || stderr != "" {
		t.Errorf("got %q and %q, want ok", stdout, stderr)
	}
	stdout, stderr = once(t, 0, "config", "validate", file(t, strings.Replace(valid, `, key: "json:order.no"`, "", 1)))
	if stdout != "ok\n" || !strings.HasPrefix(stderr, "warning: ") || !strings.Contains(stderr, "topics[0].key") {
		t.Errorf("got %q and %q, want ok and a warning about the key", stdout, stderr)
	}
	if _, stderr = once(t, 2, "config", "validate", "nowhere.yaml"); !strings.Contains(stderr, "nowhere.yaml") {
		t.Errorf("got %q, want the name of the file that is not there", stderr)
	}
}

func TestABadConfigurationIsToldInFullByEveryVerb(t *testing.T) {
	t.Parallel()
	f := file(t, twiceWrong)
	for _, args := range [][]string{
		{"config", "validate", f},
		{"consume", "-config", f, "-exec", "true"},
		{"produce", "-config", f, "-topic", "orders", "-key", "A"},
	} {
		stdout, stderr := once(t, 2, args...)
		if !strings.Contains(stderr, "topics[0].key: ") || !strings.Contains(stderr, "topics[0].lease: ") || stdout != "" {
			t.Errorf("%s: got %q, want both problems", args[0], stderr)
		}
	}
}
