//go:build unix

package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestAnotherProgramIsToldEverythingAndMayReport(t *testing.T) {
	t.Parallel()
	s := stage{Topic: "orders", Messages: 7, Redis: "h:2"}
	who := contender{"other", `echo "{\"messages\":$DEDUPBENCH_MESSAGES,\"seconds\":${#DEDUPBENCH_TOPIC}}"`}
	r, _, err := start(t.Context(), "", who, s)
	if err != nil || r.Messages == nil || *r.Messages != 7 || *r.Seconds != 6 {
		t.Errorf("got %+v, %v, want 7 messages in 6 s", r, err)
	}
}

func TestProcessorTimeOfAnotherProgramIsThatOfItsProcesses(t *testing.T) {
	t.Parallel()
	who := contender{"other", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"}
	_, cpu, err := start(t.Context(), "", who, stage{})
	if err != nil || cpu < 10*time.Millisecond {
		t.Errorf("got %v of processor time and %v, want a loop's", cpu, err)
	}
}

func TestAProgramThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	_, _, err := start(t.Context(), "", contender{"other", "echo it broke >&2; exit 3"}, stage{})
	if err == nil || err.Error() != "exit status 3: it broke" {
		t.Errorf("got %v, want its exit code and its last words", err)
	}
}

func TestAProgramThatTakesTooLongIsEndedWithItsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := start(ctx, "", contender{"other", "sleep 60 & sleep 60; true"}, stage{})
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("got %v, want the deadline", err)
	}
	if took := time.Since(began); took >= patience {
		t.Errorf("it took %v: the child still held its output", took)
	}
}

func TestLastWordsAreCut(t *testing.T) {
	t.Parallel()
	got := tail(strings.Repeat("word\n", 1000))
	if len(got) > 420 || !strings.HasPrefix(got, ": …") || !strings.HasSuffix(got, "word") || strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
	if got := tail(" \n"); got != "" {
		t.Errorf("no words: got %q", got)
	}
}
