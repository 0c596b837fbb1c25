package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured is an outcome with everything that can be in one: a contender
// without a report, a run that came late, and one that does not count.
func measured() outcome {
	field := []contender{{Name: plainName}, {Name: oursName}, {"java", "java -jar x"}}
	own := func(rate, cpu, p50, p99, trips, server float64) sample {
		return sample{Rate: rate, CPU: cpu, P50: &p50, P99: &p99, Trips: &trips, Server: &server}
	}
	plain := []sample{own(40_000, 12, 0.8, 3, 0, 0.1), own(50_000, 10, 0.7, 2, 0, 0.2), own(60_000, 11, 0.9, 4, 0, 0.3)}
	good := []sample{own(20_000, 32, 900, 4000, 2, 6), own(20_000, 31, 800, 5000, 2, 7), own(18_000, 33, 950, 9000, 2, 8)}
	java := []sample{{Rate: 9500, CPU: 130}, {Rate: 9000, CPU: 140}, {Rate: 0, Invalid: "exit status 1: out of <memory>"}}
	late := []sample{own(4900, 60, 300, 800, 1.8, 7)}
	late[0].Deferred = 5
	return outcome{
		Method: "Median of 3 interleaved runs of 20,000 messages of 200 bytes",
		Place:  "2026-01-02, Some Processor, 2 cores",
		Results: []result{
			newResult(cell{1, 64, 0, 0, 0}, field, [][]sample{plain, good, java}),
			newResult(cell{32, 20, 20, time.Millisecond, 5000}, field[:2],
				[][]sample{{own(5000, 24, 0.5, 1, 0, 0.4)}, late}),
		},
	}
}

func TestFiguresAreMediansAndRatiosArePaired(t *testing.T) {
	t.Parallel()
	r := measured().Results[0]
	ours, java := r.Standings[1], r.Standings[2]
	if got, want := *ours.Rate, (spread{20_000, 18_000, 20_000}); got != want {
		t.Errorf("ours: got rates %v, want %v", got, want)
	}
	if got, want := *ours.Ratio, (spread{0.4, 0.3, 0.5}); got != want {
		t.Errorf("ours: got ratios %v, want %v: each by the plain run of its repetition", got, want)
	}
	if got, want := *ours.Over, (spread{21, 20, 22}); got != want {
		t.Errorf("ours: got %v µs over plain, want %v", got, want)
	}
	if got, want := *java.Rate, (spread{9250, 9000, 9500}); got != want {
		t.Errorf("java: got rates %v, want %v: the invalid run does not count", got, want)
	}
	if java.P50 != nil || java.Trips != nil {
		t.Error("java: got figures that it did not report")
	}
	if len(r.Invalid) != 1 || !strings.Contains(r.Invalid[0], "java, repetition 3: invalid: exit status 1") {
		t.Errorf("got %q, want the third run of java", r.Invalid)
	}
}

func TestWithoutAPlainConsumerNothingIsRelative(t *testing.T) {
	t.Parallel()
	r := newResult(cell{}, []contender{{Name: oursName}}, [][]sample{{{Rate: 5, CPU: 1}}})
	if s := r.Standings[0]; s.Ratio != nil || s.Over != nil || s.Rate.Median != 5 {
		t.Errorf("got %+v, want a rate alone", s)
	}
	o := outcome{Results: []result{r}}
	if chart := o.chart(); !strings.Contains(chart, ">5.0/s<") {
		t.Errorf("got a chart without the rate:\n%s", chart)
	}
}

func TestTableForATerminal(t *testing.T) { golden(t, "table.txt", measured().table()) }

func TestTableForReadme(t *testing.T) { golden(t, "table.md", measured().markdown()) }

func TestChart(t *testing.T) {
	chart := measured().chart()
	golden(t, "chart.svg", chart)
	for d := xml.NewDecoder(strings.NewReader(chart)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
	}
}

func TestBarsOfAFasterContenderStillFit(t *testing.T) {
	t.Parallel()
	r := newResult(cell{}, []contender{{Name: plainName}, {Name: oursName}}, [][]sample{{{Rate: 5}}, {{Rate: 10}}})
	chart := outcome{Results: []result{r}}.chart()
	for _, want := range []string{`width="230.0"`, `width="460.0"`} {
		if !strings.Contains(chart, want) {
			t.Errorf("got no bar of %s in\n%s", want, chart)
		}
	}
}

func TestFilesAreWrittenWhereTheFlagsSay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readme := filepath.Join(dir, "README.md")
	begin, end := marks(inMySQL)
	if err := os.WriteFile(readme, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := measured()
	s := settings{JSON: filepath.Join(dir, "o.json"), SVG: filepath.Join(dir, "o.svg"), Write: readme, Store: inMySQL}
	if err := o.save(s); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		s.JSON: `"ratio_to_plain": {`, s.SVG: o.chart(), s.Write: "before\n" + begin + o.markdown() + end + "after\n",
	} {
		if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: got %v and\n%s\nwhich lacks\n%s", file, err, got, want)
		}
	}
}

func TestAFileWithoutMarksIsLeftAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	begin, end := marks(inRedis)
	other, otherEnd := marks(inMySQL)
	for _, text := range []string{"no marks\n", begin + "no end\n", end + "\n" + begin, other + otherEnd} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := replaceBlock(file, inRedis, "new\n"); err == nil {
			t.Errorf("%q: got no error", text)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
