//go:build unix

package main_test

import (
	"syscall"
	"testing"
)

func TestTheLogTellsOfLostRecords(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.consume(t, "true")
	c := client(t)
	var names []string
	eventually(t, "a pulse is remembered", func() bool {
		names = c.Keys(t.Context(), s.prefix+"{pulse}*").Val()
		return len(names) == 1
	})
	if err := c.Del(t.Context(), names[0]).Err(); err != nil {
		t.Fatal(err)
	}
	p.says(t, "dedup: records are lost")
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
}

func TestTheWatchCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "K")
	p := call(t, []string{"DEDUP_STORE_WATCH=false"}, "consume", "-config", s.file, "-exec", "echo >'"+s.dir+"/done'")
	eventually(t, "the command has run", func() bool { return s.read("done") != "" })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	if names := client(t).Keys(t.Context(), s.prefix+"{pulse}*").Val(); len(names) != 0 {
		t.Errorf("got the pulses %q, want none", names)
	}
}
