package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// results are the figures of each benchmark, one value per run and unit.
type results struct {
	cpu     string
	names   []string // in the order met
	figures map[string]map[string][]float64
}

// parse reads the output of any number of runs, of any number of packages.
func parse(text string) results {
	r := results{cpu: "unknown processor", figures: map[string]map[string][]float64{}}
	var pkg string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "pkg:":
			pkg = path.Base(fields[1])
		case len(fields) > 1 && fields[0] == "cpu:":
			r.cpu = strings.Join(fields[1:], " ")
		case len(fields) > 3 && strings.HasPrefix(fields[0], "Benchmark"):
			r.add(pkg+"."+name(fields[0]), fields[2:])
		}
	}
	return r
}

// name is the benchmark's name without its prefix and the number of cores.
func name(field string) string {
	field = strings.TrimPrefix(field, "Benchmark")
	if i := strings.LastIndexByte(field, '-'); i > 0 {
		if _, err := strconv.Atoi(field[i+1:]); err == nil {
			return field[:i]
		}
	}
	return field
}

// add takes the pairs of value and unit of one line.
func (r *results) add(name string, pairs []string) {
	if r.figures[name] == nil {
		r.figures[name] = map[string][]float64{}
		r.names = append(r.names, name)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value, err := strconv.ParseFloat(pairs[i], 64); err == nil {
			unit := pairs[i+1]
			r.figures[name][unit] = append(r.figures[name][unit], value)
		}
	}
}

// runs is how often each benchmark ran, the smallest number if they differ.
func (r results) runs() int {
	n := len(r.figures[r.names[0]]["ns/op"])
	for _, units := range r.figures {
		n = min(n, len(units["ns/op"]))
	}
	return n
}

func (r results) table() string {
	var b strings.Builder
	b.WriteString("| benchmark | ns/op | lowest to highest | B/op | allocs/op |\n|---|--:|--:|--:|--:|\n")
	for _, name := range r.names {
		units := r.figures[name]
		times := units["ns/op"]
		if len(times) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s to %s | %s | %s |\n", name,
			number(median(times)), number(slices.Min(times)), number(slices.Max(times)),
			number(median(units["B/op"])), number(median(units["allocs/op"])))
	}
	return b.String()
}

// usual are the units of time and memory.
var usual = []string{"ns/op", "B/op", "allocs/op", "MB/s"}

// others is a second table, of what benchmarks measure beside time and memory,
// such as ratios; "" if there is none of it.
func (r results) others() string {
	var b strings.Builder
	for _, name := range r.names {
		for _, unit := range slices.Sorted(maps.Keys(r.figures[name])) {
			if slices.Contains(usual, unit) {
				continue
			}
			values := r.figures[name][unit]
			fmt.Fprintf(&b, "| `%s` | %s | %.2f | %.2f to %.2f |\n", name, unit,
				median(values), slices.Min(values), slices.Max(values))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n| benchmark | figure | median | lowest to highest |\n|---|---|--:|--:|\n" + b.String()
}

// columns is a table of the same figures, with a row for each benchmark under the
// last part of its name.
func (r results) columns() string {
	var units []string
	for _, name := range r.names {
		units = slices.AppendSeq(units, maps.Keys(r.figures[name]))
	}
	slices.Sort(units)
	units = slices.DeleteFunc(slices.Compact(units), func(unit string) bool { return slices.Contains(usual, unit) })
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|---%s|\n", strings.Join(units, " | "), strings.Repeat("|--:", len(units)))
	for _, name := range r.names {
		fmt.Fprintf(&b, "| %s", strings.ReplaceAll(path.Base(name), "_", " "))
		for _, unit := range units {
			b.WriteString(" | " + spread(r.figures[name][unit]))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// spread is the median, and the lowest and highest if they differ from it.
func spread(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	middle, low, high := figure(median(values)), figure(slices.Min(values)), figure(slices.Max(values))
	if low == high {
		return middle
	}
	return fmt.Sprintf("%s (%s–%s)", middle, low, high)
}

func figure(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return number(v)
}

// median of no values is 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// number prints one decimal below 100 unless it is zero, and groups thousands.
func number(v float64) string {
	if v < 100 {
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
