package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run summarises "go test -json" of a package with the given declarations.
func run(t *testing.T, source string) (*summary, string) {
	t.Helper()
	dir := t.TempDir()
	if !strings.HasPrefix(source, "package ") {
		source = "package p\n" + source
	}
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p_test.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	events, _ := cmd.Output() // it fails whenever the tests do
	var out strings.Builder
	s := newSummary(&out)
	for line := range strings.Lines(string(events)) {
		s.add([]byte(line))
	}
	return s, out.String()
}

func TestEachOutcomeIsCountedAndShown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source, close string
		good          bool
		shown, hidden []string
	}{
		"all pass": {
			source: `import "testing"
				func TestA(t *testing.T) { t.Log("quiet"); t.Run("b", func(*testing.T) {}) }`,
			close: "2 passed, 0 failed, 0 skipped", good: true,
			shown: []string{"pass  m  2 tests"}, hidden: []string{"quiet"}},
		"a figure": {
			source: `import "testing"
				func TestA(t *testing.T) { t.Log("figure: 12 states"); t.Log("quiet") }`,
			close: "1 passed, 0 failed, 0 skipped", good: true,
			shown: []string{"m TestA: 12 states\n"}, hidden: []string{"quiet"}},
		"a failure and a skip": {
			source: `import "testing"
				func TestA(t *testing.T) { t.Error("got 1") }
				func TestB(t *testing.T) { t.Skip("no server") }
				func TestC(t *testing.T) {}`,
			close: "1 passed, 1 failed, 1 skipped",
			shown: []string{"FAIL  m TestA", "got 1", "skip  m TestB", "no server", "FAIL  m  3 tests"}},
		"it does not build": {
			source: `func f() { undefinedName() }`,
			close:  "0 passed, 1 failed, 0 skipped", shown: []string{"FAIL  m\n", "undefinedName"}},
		"its external tests do not build": {
			source: "package p_test\nfunc f() { undefinedName() }",
			close:  "0 passed, 1 failed, 0 skipped", shown: []string{"FAIL  m\n", "undefinedName"}},
		"it ends before its tests do": {
			source: `import ("fmt"; "os"; "testing")
				func TestA(t *testing.T) { fmt.Println("last words"); os.Exit(3) }`,
			close: "0 passed, 1 failed, 0 skipped", shown: []string{"FAIL  m", "last words"}},
		"no test at all": {close: "0 passed, 0 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, out := run(t, tc.source)
			if got := s.close(); got != tc.close || s.good() != tc.good {
				t.Errorf("got %q, good %v; want %q, %v", got, s.good(), tc.close, tc.good)
			}
			for _, want := range tc.shown {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
			for _, other := range tc.hidden {
				if strings.Contains(out, other) {
					t.Errorf("output shows %q:\n%s", other, out)
				}
			}
		})
	}
}

func TestALineOutsideTheFormatIsPassedOn(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	newSummary(&out).add([]byte("go: no such tool\n"))
	if got, want := out.String(), "go: no such tool\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
