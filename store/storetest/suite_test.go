package storetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestReferenceSatisfiesEveryCase(t *testing.T) {
	storetest.Run(t, harness(func(*reference) {}))
}

func TestEverySentenceHasACaseWithNameAndReason(t *testing.T) {
	seen := make(map[string]bool)
	sentences := make(map[int]bool)
	for _, c := range storetest.Cases() {
		if c.Name == "" || c.Why == "" || seen[c.Name] {
			t.Errorf("case %q: empty, repeated or without a reason", c.Name)
		}
		seen[c.Name] = true
		sentences[c.Sentence] = true
	}
	for n := 1; n <= 10; n++ {
		if !sentences[n] {
			t.Errorf("sentence %d of the contract has no case", n)
		}
	}
}

func TestMissingAbilitiesAndHooksSkipTheirCases(t *testing.T) {
	bare := storetest.Harness{FakeTime: true, New: func(testing.TB) store.Store {
		return struct{ store.Store }{newReference()}
	}}
	missing := make(map[string]int)
	for _, c := range storetest.Cases() {
		var skip *storetest.SkipError
		err := c.Judge(t, bare)
		switch {
		case errors.As(err, &skip):
			missing[skip.Missing]++
		case err != nil:
			t.Errorf("%s: got %v, want it to pass or to be skipped", c.Name, err)
		}
	}
	for _, want := range []string{"store.Renewer", "store.Parker", "store.Fencer", "store.Batcher", "store.Pulser",
		"store.Getter", "store.Forgetter", "store.Scanner", "store.Sweeper",
		"Corrupt hook", "WrongType hook", "HasExpiry hook", "Silent hook"} {
		if missing[want] == 0 {
			t.Errorf("no case was skipped for want of %s; skipped: %v", want, missing)
		}
	}
}

func TestNewThatReturnsNilFailsEveryCase(t *testing.T) {
	h := storetest.Harness{FakeTime: true, New: func(testing.TB) store.Store { return nil }}
	for _, c := range storetest.Cases() {
		if c.Judge(t, h) == nil {
			t.Errorf("%s: passed without a store", c.Name)
		}
	}
}

// outcome is a testing.TB that notes how a test ended.
type outcome struct {
	testing.TB
	fatal, skipped string
}

func (o *outcome) Helper()                      {}
func (o *outcome) Fatalf(f string, args ...any) { o.fatal = fmt.Sprintf(f, args...) }
func (o *outcome) Skipf(f string, args ...any)  { o.skipped = fmt.Sprintf(f, args...) }

func TestServer(t *testing.T) {
	const env = "DEDUP_TEST_NOWHERE"
	t.Run("is the value of the variable", func(t *testing.T) {
		t.Setenv(env, "127.0.0.1:1")
		if got := storetest.Server(t, env); got != "127.0.0.1:1" {
			t.Errorf("got %q, want 127.0.0.1:1", got)
		}
	})
	t.Run("skips without one", func(t *testing.T) {
		t.Setenv("DEDUP_TEST_STRICT", "")
		o := &outcome{TB: t}
		storetest.Server(o, env)
		wantMention(t, o.skipped, env, "scripts/test.sh")
	})
	t.Run("fails without one when strict", func(t *testing.T) {
		t.Setenv("DEDUP_TEST_STRICT", "1")
		o := &outcome{TB: t}
		storetest.Server(o, env)
		wantMention(t, o.fatal, env, "scripts/test.sh")
	})
}
