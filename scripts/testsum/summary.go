package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // instead of Package while building
	FailedBuild string // import path of what did not build
	Test        string
	Output      string
	Elapsed     float64 // seconds
}

// summary counts tests and keeps the output of those that are not over.
type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	ran, failedIn           map[string]int // tests of each package
	output                  map[[2]string]*strings.Builder
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, ran: map[string]int{}, failedIn: map[string]int{}, output: map[[2]string]*strings.Builder{}}
}

// add takes one line. A line that is no event is printed as it is: the go
// command writes some messages outside the format.
func (s *summary) add(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		s.out.Write(line) // a summary that cannot be printed is not worth an error
		return
	}
	if e.Package == "" {
		e.Package = e.ImportPath
	}
	switch e.Action {
	case "output", "build-output":
		s.buffer(e).WriteString(e.Output)
	case "pass", "fail", "skip":
		s.finish(e)
	}
}

func (s *summary) buffer(e event) *strings.Builder {
	id := [2]string{e.Package, e.Test}
	if s.output[id] == nil {
		s.output[id] = new(strings.Builder)
	}
	return s.output[id]
}

func (s *summary) finish(e event) {
	text := s.buffer(e).String()
	delete(s.output, [2]string{e.Package, e.Test})
	if e.Test == "" {
		s.finishPackage(e, text)
		return
	}
	s.ran[e.Package]++
	switch e.Action {
	case "pass":
		s.passed++
		s.printFigures(e, text)
	case "fail":
		s.failed++
		s.failedIn[e.Package]++
		s.print("FAIL", e.Package+" "+e.Test, text)
	case "skip":
		s.skipped++
		s.print("skip", e.Package+" "+e.Test, text)
	}
}

func (s *summary) finishPackage(e event, text string) {
	ran := s.ran[e.Package]
	switch {
	case e.Action == "fail" && s.failedIn[e.Package] == 0:
		s.failed++
		s.print("FAIL", e.Package, s.buffer(event{Package: e.FailedBuild}).String()+s.unfinished(e.Package)+text)
	case e.Action != "skip" && ran > 0:
		verdict := strings.Replace(e.Action, "fail", "FAIL", 1)
		fmt.Fprintf(s.out, "%s  %s  %d tests, %.1f s\n", verdict, e.Package, ran, e.Elapsed)
	}
	delete(s.ran, e.Package)
	delete(s.failedIn, e.Package)
}

// unfinished is the output of the tests that were running when their package
// ended.
func (s *summary) unfinished(pkg string) string {
	var b strings.Builder
	for id, text := range s.output {
		if id[0] == pkg {
			b.WriteString(text.String())
			delete(s.output, id)
		}
	}
	return b.String()
}

func (s *summary) print(verdict, what, text string) {
	fmt.Fprintf(s.out, "%-4s  %s\n", verdict, what)
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
			continue
		}
		fmt.Fprintf(s.out, "      %s\n", strings.TrimRight(line, "\n"))
	}
}

// printFigures shows what a test that passed has measured: its lines with "figure: ".
func (s *summary) printFigures(e event, text string) {
	for line := range strings.Lines(text) {
		if _, figure, found := strings.Cut(strings.TrimSpace(line), "figure: "); found {
			fmt.Fprintf(s.out, "      %s %s: %s\n", e.Package, e.Test, figure)
		}
	}
}

func (s *summary) good() bool { return s.failed == 0 && s.passed > 0 }

// close returns the closing line.
func (s *summary) close() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", s.passed, s.failed, s.skipped)
}
