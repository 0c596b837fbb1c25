// Command benchtab turns the output of repeated benchmark runs into a small
// Markdown table of medians. Use this when you have several runs of the same
// benchmarks, as scripts/bench.sh makes them:
//
//	go run ./scripts/benchtab [-figures] [-note TEXT] [-write FILE] < output
//
// -figures prints what benchmarks measure beside time and memory, a column each.
// -note adds to the line that says where and with what the figures were taken.
// -write also puts the table into FILE, between its two marker lines
// "<!-- bench:begin -->" and "<!-- bench:end -->".
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	figures := flag.Bool("figures", false, "a table of what is measured beside time and memory")
	note := flag.String("note", "", "versions of the servers that took part")
	file := flag.String("write", "", "file whose marked block is replaced")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *figures, *note, *file); err != nil {
		fmt.Fprintln(os.Stderr, "benchtab:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, figures bool, note, file string) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	r := parse(string(text))
	if len(r.names) == 0 {
		return fmt.Errorf("no benchmark in the input:\n%s", text)
	}
	table := r.table() + r.others()
	if figures {
		table = r.columns()
	}
	table += "\n" + where(r, note)
	fmt.Fprint(out, table)
	if file == "" {
		return nil
	}
	return write(file, table)
}

// where is the line without which the figures say nothing.
func where(r results, note string) string {
	cores := fmt.Sprintf("%d cores", runtime.NumCPU())
	facts := []string{r.cpu, cores, runtime.GOOS + "/" + runtime.GOARCH, runtime.Version()}
	if note != "" {
		facts = append(facts, note)
	}
	return fmt.Sprintf("Median of %d interleaved runs of `scripts/bench.sh` on %s: %s.\n",
		r.runs(), time.Now().UTC().Format(time.DateOnly), strings.Join(facts, ", "))
}

const (
	begin = "<!-- bench:begin -->\n"
	end   = "<!-- bench:end -->"
)

// write replaces the marked block of a file.
func write(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(file, []byte(before+begin+table+end+after), 0o644)
}
