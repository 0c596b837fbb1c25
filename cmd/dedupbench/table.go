package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is the figures of a standing as text.
func (s standing) row() []string {
	return []string{
		s.Name, middle(s.Rate, number), limits(s.Rate), middle(s.Ratio, ratio), middle(s.CPU, number),
		middle(s.Over, number), middle(s.P50, number), middle(s.P99, number), middle(s.Trips, ratio),
		middle(s.Server, number),
	}
}

func middle(s *spread, text func(float64) string) string {
	if s == nil {
		return "–"
	}
	return text(s.Median)
}

func limits(s *spread) string {
	if s == nil {
		return "–"
	}
	return number(s.Low) + "–" + number(s.High)
}

// table is all cells for a terminal.
func (o outcome) table() string {
	var b strings.Builder
	for _, r := range o.Results {
		fmt.Fprintf(&b, "%s%s\n", r.Cell, r.mark())
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		line := func(fields ...string) { fmt.Fprintln(w, strings.Join(fields, "\t")+"\t") }
		line("", "messages/s", "low–high", "× plain", "CPU µs", "over plain", "added p50 µs", "p99 µs", "trips", "server µs")
		for _, s := range r.Standings {
			line(s.row()...)
		}
		_ = w.Flush() // into memory
		for _, note := range slices.Concat(r.Invalid, r.Notes) {
			fmt.Fprintln(&b, " ", note)
		}
		b.WriteByte('\n')
	}
	return fmt.Sprintf("%s%s\n%s\n", b.String(), o.Method, o.Place)
}

// mark warns of a cell that does not count.
func (r result) mark() string {
	if len(r.Invalid) > 0 {
		return " (INVALID)"
	}
	return ""
}

// markdown is a table for README.
func (o outcome) markdown() string {
	var b strings.Builder
	b.WriteString("| batch | callbacks | copies | callback | contender | messages/s | low–high | × plain | CPU µs | " +
		"over plain | added p50 µs | p99 µs | trips | server µs |\n" +
		"|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range o.Results {
		for _, s := range r.Standings {
			c := r.Cell
			fmt.Fprintf(&b, "| %d | %d | %d %% | %s | %s |\n",
				c.Batch, c.Callbacks, c.Copies, c.work(), strings.Join(s.row(), " | "))
		}
	}
	return fmt.Sprintf("%s\n%s, %s.\n", b.String(), o.Method, o.Place)
}

// marks are the lines around a store's block.
func marks(store string) (begin, end string) {
	name := "dedupbench"
	if store != inRedis {
		name += "-" + store
	}
	return "<!-- " + name + ":begin -->\n", "<!-- " + name + ":end -->"
}

// block returns what stands around the block of a store in a file.
func block(file, store string) (before, after string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	begin, end := marks(store)
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(begin), end)
	}
	return before + begin, end + after, nil
}

// replaceBlock puts text between the marks of a store in a file.
func replaceBlock(file, store, text string) error {
	before, after, err := block(file, store)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+text+after), 0o644)
}
