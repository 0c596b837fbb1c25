package dedup_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The model of a record's protocol is in record.pml. Spin makes a C program of
// it that visits every state.

const (
	modelFile = "record.pml"
	minStates = 2_000_000 // fewer would be a model from which something was lost
)

func TestTheModelOfARecordHolds(t *testing.T) {
	t.Parallel()
	began := time.Now()
	c := checkModel(t, "-O2")
	t.Logf("figure: %d states of the model in %.0f s", c.states, time.Since(began).Seconds())
	if c.broken != "" || c.states < minStates {
		t.Errorf("got %d states and broken invariant %q, want at least %d and none:\n%s",
			c.states, c.broken, minStates, c.output)
	}
	if len(c.unreached) > 0 {
		t.Errorf("parts of the model can never happen: %q", c.unreached)
	}
}

func TestEveryMutantOfTheModelBreaksItsInvariant(t *testing.T) {
	t.Parallel()
	mutants := readMutants(t)
	if len(mutants) < 8 {
		t.Fatalf("got %d mutants, want at least 8", len(mutants))
	}
	for name, invariant := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := checkModel(t, "-O0", "-D"+name)
			if c.broken != invariant {
				t.Errorf("got broken invariant %q, want %q:\n%s", c.broken, invariant, c.output)
			}
			t.Logf("%s is broken after %d states", c.broken, c.states)
		})
	}
}

func TestEveryInvariantOfTheModelIsBrokenByAMutant(t *testing.T) {
	t.Parallel()
	var broken []string
	for _, invariant := range readMutants(t) {
		broken = append(broken, invariant)
	}
	invariants := regexp.MustCompile(`(\w+) = 1[,;]`).FindAllSubmatch(readModel(t), -1)
	if len(invariants) == 0 {
		t.Fatal("the model has no invariants")
	}
	for _, m := range invariants {
		name := string(m[1])
		if !bytes.Contains(readModel(t), []byte("holds("+name+", ")) || !slices.Contains(broken, name) {
			t.Errorf("%s is not checked, or no mutant breaks it", name)
		}
	}
}

// readMutants returns the invariant that each mutant is said to break.
func readMutants(t *testing.T) map[string]string {
	t.Helper()
	mutants := map[string]string{}
	for _, m := range regexp.MustCompile(`#ifdef (MUTANT_\w+) +/\* breaks (\w+) `).FindAllSubmatch(readModel(t), -1) {
		mutants[string(m[1])] = string(m[2])
	}
	if got, want := len(mutants), bytes.Count(readModel(t), []byte("#ifdef MUTANT_")); got != want {
		t.Fatalf("got %d mutants that say what they break, want %d", got, want)
	}
	return mutants
}

func readModel(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(modelFile)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checked is what the search found.
type checked struct {
	states    int
	broken    string   // an invariant, or what else is wrong
	unreached []string // statements
	output    string
}

func checkModel(t *testing.T, optimize string, defines ...string) checked {
	t.Helper()
	spin, dir := findSpin(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, modelFile), readModel(t), 0o644); err != nil {
		t.Fatal(err)
	}
	do := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
		}
		return string(out)
	}
	do(spin, append(defines, "-a", modelFile)...)
	do("gcc", optimize, "-w", "-DSAFETY", "-DMEMLIM=2000", "-o", "pan", "pan.c")
	return readSearch(t, do("./pan", "-m100000", "-w24"))
}

func readSearch(t *testing.T, output string) checked {
	t.Helper()
	c := checked{output: output}
	find := func(expr string) string {
		if m := regexp.MustCompile(expr).FindStringSubmatch(output); m != nil {
			return m[1]
		}
		return ""
	}
	states, err := strconv.ParseFloat(find(`(\S+) states, stored`), 64)
	if err != nil {
		t.Fatalf("the search does not tell its states:\n%s", output)
	}
	c.states = int(states)
	if c.broken = find(`assertion violated \((\w+)&&`); c.broken == "" {
		// Not only assertions: a deadlock, too little memory, a search that is not deep enough.
		c.broken = find(`(?m)^(pan:\d+: .*|error: .*|pan: reached .*)$`)
	}
	if c.broken == "" && !strings.Contains(output, "errors: 0") {
		c.broken = "the search did not end well"
	}
	for _, m := range regexp.MustCompile(`(?m)^\trecord.pml:(\d+), state \d+, "(.*)"$`).FindAllStringSubmatch(output, -1) {
		if m[2] != "-end-" { // the processes are endless
			c.unreached = append(c.unreached, m[1]+": "+m[2])
		}
	}
	return c
}

// findSpin skips the test loudly without spin.
func findSpin(t *testing.T) string {
	t.Helper()
	spin := os.Getenv("DEDUP_TEST_SPIN")
	if spin == "" && os.Getenv("DEDUP_TEST_STRICT") == "1" {
		t.Fatal("NO SPIN: DEDUP_TEST_SPIN is not set and DEDUP_TEST_STRICT=1; apt-get install spin, then scripts/test.sh")
	}
	if spin == "" {
		t.Skip("SKIPPED, NO SPIN: apt-get install spin and set DEDUP_TEST_SPIN=spin, or run scripts/test.sh")
	}
	return spin
}
