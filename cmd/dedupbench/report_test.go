package main

import (
	"testing"
	"time"
)

func TestTheReportIsTheLastLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output  string
		seconds float64 // 0: none
		bad     bool
	}{
		"alone":              {`{"seconds":2}` + "\n", 2, false},
		"after other output": {"starting\n{x}\n{\"seconds\":3, \"theirs\":1}\n\n", 3, false},
		"none":               {"consumed all\n", 0, false},
		"nothing at all":     {"", 0, false},
		"not the last line":  {"{\"seconds\":2}\nbye\n", 0, false},
		"broken":             {`{"seconds":`, 0, true},
	} {
		r, err := reportIn([]byte(c.output))
		if (err != nil) != c.bad {
			t.Errorf("%s: got %v", name, err)
		}
		if got := r.Seconds; (got == nil) != (c.seconds == 0) || got != nil && *got != c.seconds {
			t.Errorf("%s: got %v, want %v", name, got, c.seconds)
		}
	}
}

func TestAContenderIsMeasuredByItsReportOrByItsProcess(t *testing.T) {
	t.Parallel()
	full := topic{Messages: 1000, Distinct: 800}
	silent := judge(contender{"java", "x"}, full, report{}, 2*time.Second, time.Millisecond)
	if silent.Rate != 500 || silent.CPU != 1 || silent.P50 != nil || silent.Trips != nil || silent.Invalid != "" {
		t.Errorf("without a report: got %+v, want 500/s and 1 µs", silent)
	}
	r := report{Seconds: new(0.5), CPU: new(4000.0), P50: new(1.0), P99: new(9.0), Trips: new(int64(1800)), Deferred: new(3)}
	told := judge(contender{"java", "x"}, full, r, 2*time.Second, time.Millisecond)
	if told.Rate != 2000 || told.CPU != 4 || *told.P50 != 1 || *told.P99 != 9 || *told.Trips != 1.8 || told.Deferred != 3 {
		t.Errorf("with a report: got %+v, want 2000/s, 4 µs, 1.8 trips", told)
	}
}

func TestARunThatBrokeItsPromiseDoesNotCount(t *testing.T) {
	t.Parallel()
	full := topic{Messages: 1000, Distinct: 800}
	good := func() report { return report{Messages: new(1000), Lost: new(0), Extra: new(0)} }
	for name, c := range map[string]struct {
		who   contender
		spoil func(*report)
		want  string
	}{
		"all well":                  {contender{Name: oursName}, func(*report) {}, ""},
		"a message is missing":      {contender{Name: oursName}, func(r *report) { r.Messages = new(999) }, "acknowledged 999 messages, want 1000"},
		"a key never ran":           {contender{Name: oursName}, func(r *report) { r.Lost = new(1) }, "1 keys never ran, want 0"},
		"a copy ran":                {contender{Name: handName}, func(r *report) { r.Extra = new(2) }, "2 runs beyond the first of a key, want 0"},
		"the plain one runs copies": {contender{Name: plainName}, func(r *report) { r.Extra = new(200) }, ""},
		"the plain one does not":    {contender{Name: plainName}, func(*report) {}, "0 runs beyond the first of a key, want 200"},
	} {
		r := good()
		c.spoil(&r)
		if got := judge(c.who, full, r, time.Second, 0).Invalid; got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
