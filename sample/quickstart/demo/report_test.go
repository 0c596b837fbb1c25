package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func TestThePlanSendsEveryOrderAndAShareOfThemAgain(t *testing.T) {
	t.Parallel()
	for _, resend := range []int{0, 30, 100} {
		s := Settings{Messages: 10000, Resend: resend, Seed: 7}
		plan := s.plan()
		times := map[string]int{}
		for _, no := range plan {
			times[no]++
		}
		if len(times) != s.Messages {
			t.Errorf("%d %%: got %d orders, want %d", resend, len(times), s.Messages)
		}
		if got, want := len(plan)-s.Messages, s.Messages*resend/100; got < want*95/100 || got > want*105/100 {
			t.Errorf("%d %%: got %d resends, want about %d", resend, got, want)
		}
		if !slices.Equal(plan, s.plan()) {
			t.Errorf("%d %%: one seed gave two plans", resend)
		}
		if other := (Settings{Messages: 10000, Resend: 30, Seed: 8}); resend == 30 && slices.Equal(plan, other.plan()) {
			t.Error("two seeds gave one plan")
		}
	}
}

func TestTheVerdictIsAboutThePlayWithDedup(t *testing.T) {
	t.Parallel()
	bad := Result{Extra: 3, Lost: 2, unfinished: 1}
	if err := (Report{Without: bad}).verdict(); err != nil {
		t.Errorf("without dedup anything may happen: got %v", err)
	}
	for _, with := range []Result{{Extra: 1}, {Lost: 1}, {unfinished: 1}} {
		if err := (Report{With: with}).verdict(); !errors.Is(err, ErrWrong) {
			t.Errorf("%+v: got %v, want ErrWrong", with, err)
		}
	}
}

func TestTheLedgerCountsOutsideTheStore(t *testing.T) {
	t.Parallel()
	l := newLedger([]string{"A", "B", "C", "B"}, nil)
	for _, no := range []string{"A", "B", "B", "B"} {
		l.send()
		if err := l.charge(no); err != nil {
			t.Fatal(err)
		}
	}
	l.finish("message 1")
	l.finish("message 1")
	if got, want := l.result(), (Result{Sent: 4, Distinct: 3, Ran: 4, Extra: 2, Lost: 1, unfinished: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheReportAsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := (Report{With: Result{Sent: 5}}).write(&out, true); err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]float64
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, play := range []string{"without", "with"} {
		for _, field := range []string{"sent", "distinct", "ran", "extra", "skipped", "deferred", "lost", "seconds"} {
			if _, ok := got[play][field]; !ok {
				t.Errorf("%s has no %s", play, field)
			}
		}
		if len(got[play]) != 8 {
			t.Errorf("%s has %d fields, want 8", play, len(got[play]))
		}
	}
	if got["with"]["sent"] != 5 {
		t.Errorf("got sent=%v with dedup, want 5", got["with"]["sent"])
	}
}
