package testserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// The signal alone is obeyed when a thread is next scheduled, which a busy machine
// puts off.
func TestAFrozenProcessDoesNothingAnyMore(t *testing.T) {
	t.Parallel()
	busy := make([]*exec.Cmd, 16)
	for i := range busy {
		busy[i] = exec.Command("sh", "-c", "while :; do :; done")
		if err := busy[i].Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = busy[i].Process.Kill(), busy[i].Wait() }() // killed is what it is to be
	}
	for _, c := range busy {
		for range 2 { // a frozen process, too
			if err := testserver.Freeze(c.Process); err != nil {
				t.Fatal(err)
			}
			if awake := awake(t, c.Process); awake != "" {
				t.Fatalf("after Freeze: got a thread in state %s, want all stopped", awake)
			}
		}
		if err := testserver.Thaw(c.Process); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAProcessThatHasEndedIsNotFrozen(t *testing.T) {
	t.Parallel()
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if err := testserver.Freeze(c.Process); err == nil {
		t.Error("got no error")
	}
}

// awake is the state of a thread of p that is not stopped, if there is one.
func awake(t *testing.T, p *os.Process) string {
	t.Helper()
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(p.Pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		t.Fatalf("got %v and no threads", err)
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		if state, _, _ := strings.Cut(fields, " "); state != "T" {
			return state
		}
	}
	return ""
}
