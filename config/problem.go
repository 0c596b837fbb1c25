package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Problem is one thing that is wrong, or unwise, in a configuration.
type Problem struct {
	Source string // the file, or the environment variable that set the value
	Field  string // path of the key, such as topics[0].lease; "" for the file as a whole
	Value  string // as it was found; "" when there is none, or it is or may be secret
	Text   string // what is wrong and what is allowed
}

// Error is the problem in one line: source, field, value, text.
func (p Problem) Error() string {
	parts := slices.DeleteFunc([]string{p.Source, p.Field, p.Value, p.Text}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Problems is everything that is wrong at once: the error of [Load] and
// [Config.Validate]. errors.As also finds a single [Problem] in it.
type Problems []Problem

// Error is one line per problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems one by one.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i, one := range p {
		errs[i] = one
	}
	return errs
}

// report gathers problems, the first one of each field only: what follows from
// a bad value is noise.
type report struct {
	source   func(field string) string
	problems Problems
	warnings Problems
	bad      map[string]bool // fields that have a problem
}

func newReport(source func(field string) string) *report {
	return &report{source: source, bad: map[string]bool{}}
}

func (r *report) wrong(field, value, format string, args ...any) {
	if r.bad[field] {
		return
	}
	r.bad[field] = true
	r.problems = append(r.problems, Problem{r.source(field), field, value, fmt.Sprintf(format, args...)})
}

func (r *report) warn(field, format string, args ...any) {
	w := Problem{Source: r.source(field), Field: field, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// sound reports whether conclusions may be drawn from all of these fields.
func (r *report) sound(fields ...string) bool {
	return !slices.ContainsFunc(fields, func(f string) bool { return r.bad[f] })
}

// err is nil, or all problems in the order of their fields.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Field, b.Field) })
	return r.problems
}

// short is d without zero minutes and seconds: 10m, not 10m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// shown is a value as messages may show it: never a list or a section, which may
// hold anything, and nothing before an @, which may be a password as in
// redis://user:password@host.
func shown(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Struct:
		return ""
	}
	text := fmt.Sprint(v)
	if i := strings.LastIndex(text, "@"); i >= 0 {
		text = "…" + text[i:]
	}
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	if _, isText := v.(string); isText {
		return fmt.Sprintf("%q", text)
	}
	return text
}
