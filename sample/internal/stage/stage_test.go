package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
)

const diary = "STAGE_TEST_DIARY" // names the file that processes write to

// TestMain is the second process, too.
func TestMain(m *testing.M) {
	part := os.Getenv("SAMPLE_PART")
	if part == "" {
		os.Exit(m.Run())
	}
	note(part + " of " + os.Getenv("SAMPLE_RUN") + " comes")
	fmt.Println("here")
	stage.AwaitLeave()
	note("leaves")
}

func note(line string) {
	f, err := os.OpenFile(os.Getenv(diary), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func keepDiary(t *testing.T) (read func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "diary")
	t.Setenv(diary, path)
	return func() string {
		text, _ := os.ReadFile(path) // which nobody may have made yet
		return string(text)
	}
}

func TestTheSecondProcessIsKilledHalfWayAndComesBackAndLeaves(t *testing.T) {
	read := keepDiary(t)
	sent := 0
	send := func() error { sent++; return nil }
	comings := func(context.Context) (int, error) { return strings.Count(read(), "comes\n"), nil }
	if err := (stage.Run{Name: "run-7"}).KillHalfWay(t.Context(), send, 2, comings); err != nil {
		t.Fatal(err)
	}
	const want = "second of run-7 comes\nsecond of run-7 comes\nleaves\n"
	if got := read(); got != want || sent != 1 {
		t.Errorf("got %q, sent %d times, want %q and once", got, sent, want)
	}
}

func TestTheSecondProcessDiesWhenSendingFails(t *testing.T) {
	read := keepDiary(t)
	broken := errors.New("no broker")
	send := func() error {
		here := func() (bool, error) { return strings.Contains(read(), "comes\n"), nil }
		return errors.Join(stage.Await(t.Context(), here), broken)
	}
	none := func(context.Context) (int, error) { return 0, nil }
	if err := (stage.Run{Name: "run-7"}).KillHalfWay(t.Context(), send, 2, none); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if got := read(); strings.Contains(got, "leaves") {
		t.Errorf("got %q, want it killed", got)
	}
}

func TestAnotherProcessIsHeardAndLeavesWhenTold(t *testing.T) {
	read := keepDiary(t)
	p, err := stage.Run{Name: "run-7"}.Start("clerk")
	if err != nil {
		t.Fatal(err)
	}
	word := make([]byte, 4)
	if _, err := io.ReadFull(p.Output, word); err != nil || string(word) != "here" {
		t.Errorf("got %q and %v, want its word", word, err)
	}
	p.Leave()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if got, want := read(), "clerk of run-7 comes\nleaves\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWaitingEndsWithItsContextAndWithAnError(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stage.Await(ended, func() (bool, error) { return false, nil }); err == nil {
		t.Error("got nil for a context that has ended")
	}
	broken := errors.New("no database")
	if err := stage.Await(t.Context(), func() (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestTheSecondConsumerIsReplacedHalfWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		numbers := stage.EveryThirdTwice(4) // 0 0 1 2 3 3
		books := stage.NewLedger(numbers, []string{stage.Number(1)})
		started, got := 0, ""
		start := func() (func() error, error) {
			started++
			name := started
			got += fmt.Sprint(" start ", name)
			if name == 3 {
				deliver(books, numbers[3:])
			}
			return func() error { got += fmt.Sprint(" stop ", name); return nil }, nil
		}
		send := func() error { deliver(books, numbers[:3]); return nil }
		if err := books.RestartHalfWay(ctx, start, send); err != nil {
			t.Fatal(err)
		}
		if want := " start 1 start 2 stop 2 start 3 stop 1 stop 3"; got != want {
			t.Errorf("got%s, want%s", got, want)
		}
		if err := errors.Join(books.Conclude(), ctx.Err()); err != nil {
			t.Error(err)
		}
	})
}

// deliver charges each order until that goes well, and skips its copies.
func deliver(books *stage.Ledger, numbers []string) {
	var all sync.WaitGroup
	for i, no := range numbers {
		all.Go(func() {
			outcome := dedup.Skipped
			if i == 0 || numbers[i-1] != no {
				for outcome = dedup.Ran; books.Charge(no) != nil; {
					books.Observe(context.Background(), dedup.Event{Result: dedup.Result{Outcome: dedup.Deferred}})
				}
			}
			books.Observe(context.Background(), dedup.Event{Result: dedup.Result{Outcome: outcome}})
		})
	}
	all.Wait()
}

func TestALedgerFailsForALostOrDoubledCharge(t *testing.T) {
	t.Parallel()
	for name, charges := range map[string][]string{
		"lost":             {"A-0000"},
		"doubled":          {"A-0000", "A-0001", "A-0001"},
		"lost and doubled": {"A-0000", "A-0000"},
	} {
		books := stage.NewLedger([]string{"A-0000", "A-0001"}, nil)
		for _, no := range charges {
			if err := books.Charge(no); err != nil {
				t.Fatal(err)
			}
		}
		if books.Conclude() == nil {
			t.Errorf("%s: got nil", name)
		}
	}
}

// What a run says in the end.
func ExampleLedger() {
	numbers := stage.EveryThirdTwice(3)
	fmt.Println(numbers)
	books := stage.NewLedger(numbers, numbers[:1])
	for _, no := range []string{"A-0000", "A-0000", "A-0000", "A-0001", "A-0002"} {
		if err := books.Charge(no); err != nil {
			fmt.Println(no, err)
		}
	}
	fmt.Println(books.Conclude())
	// Output:
	// [A-0000 A-0000 A-0001 A-0002]
	// A-0000 the bank does not answer
	// sent=4 distinct=3 ran=4 extra=1 skipped=0 deferred=0 lost=0
	// not every order was charged once
}
