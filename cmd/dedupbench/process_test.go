package main

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

func TestTheLineOfAProcessTellsItsNameAndTime(t *testing.T) {
	t.Parallel()
	const line = "7 (my (sql) d) S 1 2 3 4 5 6 7 8 9 10 150 50 99 99 20 0 1\n"
	if name, seconds, ok := statCPU(line); name != "my (sql) d" || seconds != 2 || !ok {
		t.Errorf("got %q, %v, %v, want the name in brackets and 2 s", name, seconds, ok)
	}
	for _, bad := range []string{"", "7 )(", "7 (a) S 1 2", "7 (a) S 1 2 3 4 5 6 7 8 9 10 x 50"} {
		if _, _, ok := statCPU(bad); ok {
			t.Errorf("%q: got a time", bad)
		}
	}
}

func TestOnlyAProcessOfTheRightNameTellsItsTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	self, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	name, pid := string(self[:len(self)-1]), strconv.Itoa(os.Getpid())
	before := ownCPU().Seconds()
	got := processCPU(pid, name)
	if got == nil || *got < before-0.1 || *got > ownCPU().Seconds()+0.1 {
		t.Errorf("got %v for %s, want about %v s", got, name, before)
	}
	if processCPU(pid, "mysqld") != nil || processCPU("0", name) != nil {
		t.Error("got the time of another process, or of none")
	}
}
