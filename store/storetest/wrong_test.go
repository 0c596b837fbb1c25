package storetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// wrong is a store with one mistake, and the names of the cases that catch it.
type wrong struct {
	mistake string
	change  func(*reference)
	caught  []string
}

func wrongStores() []wrong {
	return slices.Concat(wrongClaims, wrongCompletes, wrongReleases, wrongParks, wrongRenewals, wrongFences, wrongBatches,
		wrongPulses, wrongRecords, wrongKeys, wrongFailures,
		wrongGets, wrongForgets, wrongScans, wrongSweeps)
}

func TestWrongStores(t *testing.T) {
	for _, w := range wrongStores() {
		t.Run(w.mistake, func(t *testing.T) {
			t.Parallel()
			judgeWrong(t, w.mistake, harness(w.change), w.caught)
		})
	}
	const original = "does what the Java original does"
	t.Run(original, func(t *testing.T) {
		t.Parallel()
		judgeWrong(t, original, storetest.Harness{New: newOriginal, FakeTime: true}, originalCaught)
	})
}

// judgeWrong wants exactly the cases of the given names to fail, and prints
// them with what they saw.
func judgeWrong(t *testing.T, mistake string, h storetest.Harness, want []string) {
	report := "a store that " + mistake + " is caught by"
	for _, c := range storetest.Cases() {
		var skip *storetest.SkipError
		err := c.Judge(t, h)
		switch expected := slices.Contains(want, c.Name); {
		case errors.As(err, &skip):
		case err != nil && expected:
			report += fmt.Sprintf("\n\t%s (%.120s)", c.Name, oneLine(err))
		case err != nil:
			t.Errorf("caught by %q, which is not named for it: %v", c.Name, err)
		case expected:
			t.Errorf("not caught by %q", c.Name)
		}
	}
	t.Log(report)
}

func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func TestEveryCaseCatchesAWrongStore(t *testing.T) {
	proved := make(map[string]bool)
	for _, w := range wrongStores() {
		if len(w.caught) == 0 {
			t.Errorf("nothing catches the store that %s", w.mistake)
		}
		for _, name := range w.caught {
			proved[name] = true
		}
	}
	for _, c := range storetest.Cases() {
		if !proved[c.Name] {
			t.Errorf("no wrong store proves the case %q", c.Name)
		}
		delete(proved, c.Name)
	}
	for name := range proved {
		t.Errorf("a wrong store names the case %q, which does not exist", name)
	}
}

func verdict(state store.State) (store.Verdict, error) { return store.Verdict{State: state}, nil }
