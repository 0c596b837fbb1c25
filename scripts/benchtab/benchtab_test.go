package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const output = `goos: linux
pkg: example.org/m/listener/dedup
cpu: Some Processor
BenchmarkDoneCopy-2   	 1000000	        300.0 ns/op	       0 B/op	       0 allocs/op
PASS
pkg: example.org/m/store/redisstore
cpu: Some Processor
BenchmarkClaim/one-key-2   	   10000	    52000 ns/op	     120 B/op	       3 allocs/op
BenchmarkClaim/one-key-2   	   10000	    54000 ns/op	     120 B/op	       4 allocs/op
pkg: example.org/m/listener/dedup
BenchmarkDoneCopy-2   	 1000000	        100.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkDoneCopy-2   	 1000000	        99.5 ns/op	       0 B/op	       0 allocs/op
ok  	example.org/m/listener/dedup	1.2s
`

const rows = "| `dedup.DoneCopy` | 100 | 99.5 to 300 | 0 | 0 |\n" +
	"| `redisstore.Claim/one-key` | 53,000 | 52,000 to 54,000 | 120 | 3.5 |\n"

func TestTheTableShowsMediansOfAllRuns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(strings.NewReader(output), &out, false, "Redis 7", ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{rows, "Median of 2 interleaved runs", "Some Processor", ", Redis 7.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwhich lacks\n%s", out.String(), want)
		}
	}
}

func TestOtherFiguresHaveATableOfTheirOwn(t *testing.T) {
	t.Parallel()
	const ratios = "pkg: example.org/m/store/redisstore\n" +
		"BenchmarkRatio-2   100   17000 ns/op   0.91 x-autopipeline   2.9 x-plain   8 B/op   1 allocs/op\n" +
		"BenchmarkRatio-2   100   18000 ns/op   0.97 x-autopipeline   3.1 x-plain   8 B/op   1 allocs/op\n"
	var out strings.Builder
	if err := run(strings.NewReader(ratios), &out, false, "", ""); err != nil {
		t.Fatal(err)
	}
	want := "| `redisstore.Ratio` | x-autopipeline | 0.94 | 0.91 to 0.97 |\n" +
		"| `redisstore.Ratio` | x-plain | 3.00 | 2.90 to 3.10 |\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwhich lacks\n%s", out.String(), want)
	}
}

func TestFiguresHaveAColumnEach(t *testing.T) {
	t.Parallel()
	const modes = "pkg: example.org/m/listener\n" +
		"BenchmarkMode/row_lock-2   100   17000 ns/op   3100 tx/s   0.91 x-plain\n" +
		"BenchmarkMode/alone-2   100   17000 ns/op   4.00 trips   1.00 x-plain\n" +
		"BenchmarkMode/row_lock-2   100   18000 ns/op   3300 tx/s   0.91 x-plain\n"
	var out strings.Builder
	if err := run(strings.NewReader(modes), &out, true, "", ""); err != nil {
		t.Fatal(err)
	}
	want := "| | trips | tx/s | x-plain |\n|---|--:|--:|--:|\n" +
		"| row lock | – | 3,200 (3,100–3,300) | 0.91 |\n" +
		"| alone | 4.00 | – | 1.00 |\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwhich does not begin with\n%s", out.String(), want)
	}
}

func TestNoBenchmarkIsAnError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(strings.NewReader("PASS\n"), &out, false, "", ""); err == nil {
		t.Error("got no error")
	}
}

func TestOnlyTheMarkedBlockIsReplaced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("before\n"+begin+"old\n"+end+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(file, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(text), "before\n"+begin+rows+end+"\nafter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFileWithoutMarkersIsLeftAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	for _, text := range []string{"no markers\n", begin + "no end\n", end + "\n" + begin} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := write(file, rows); err == nil {
			t.Errorf("%q: got no error", text)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
