package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// report is what a contender may print as the last line of its standard output,
// as JSON. Every field may be missing. Without seconds and cpu_us the time and
// the processor time of its whole process count, starting up included.
type report struct {
	Messages *int     `json:"messages,omitempty"` // acknowledged
	Lost     *int     `json:"lost,omitempty"`     // keys that never ran
	Extra    *int     `json:"extra,omitempty"`    // runs beyond the first of a key
	Deferred *int     `json:"deferred,omitempty"` // messages sent back
	Seconds  *float64 `json:"seconds,omitempty"`  // from the first callback to the last acknowledgement
	CPU      *float64 `json:"cpu_us,omitempty"`   // of the process in that time
	P50      *float64 `json:"p50_us,omitempty"`   // time of a callback without its user code
	P99      *float64 `json:"p99_us,omitempty"`
	Trips    *int64   `json:"trips,omitempty"` // round trips to the store
}

// reportIn takes the report out of what a contender printed; none is no error.
func reportIn(output []byte) (report, error) {
	output = bytes.TrimSpace(output)
	last := output[bytes.LastIndexByte(output, '\n')+1:]
	var r report
	if len(last) == 0 || last[0] != '{' {
		return r, nil
	}
	if err := json.Unmarshal(last, &r); err != nil {
		return report{}, fmt.Errorf("its report: %w", err)
	}
	return r, nil
}

// sample is one counted run.
type sample struct {
	Rate     float64  `json:"messages_per_second"`
	CPU      float64  `json:"cpu_us_per_message"`
	P50      *float64 `json:"added_p50_us,omitempty"`
	P99      *float64 `json:"added_p99_us,omitempty"`
	Trips    *float64 `json:"trips_per_message,omitempty"`
	Server   *float64 `json:"server_cpu_us_per_message,omitempty"` // of the store's server
	Deferred int      `json:"deferred"`
	Invalid  string   `json:"invalid,omitempty"` // why it does not count
}

// judge turns what a contender reported and what its process took into a sample.
func judge(who contender, t topic, r report, wall, cpu time.Duration) sample {
	seconds, micros := wall.Seconds(), cpu.Seconds()*1e6
	if r.Seconds != nil {
		seconds = *r.Seconds
	}
	if r.CPU != nil {
		micros = *r.CPU
	}
	n := float64(t.Messages)
	s := sample{CPU: micros / n, P50: r.P50, P99: r.P99, Invalid: fault(who, t, r)}
	if seconds > 0 {
		s.Rate = n / seconds
	}
	if r.Deferred != nil {
		s.Deferred = *r.Deferred
	}
	if r.Trips != nil {
		trips := float64(*r.Trips) / n
		s.Trips = &trips
	}
	return s
}

// fault says why a run does not count, or nothing.
func fault(who contender, t topic, r report) string {
	extra := 0
	if who.Name == plainName {
		extra = t.Messages - t.Distinct
	}
	for _, c := range []struct {
		got  *int
		want int
		text string
	}{
		{r.Messages, t.Messages, "acknowledged %d messages, want %d"},
		{r.Lost, 0, "%d keys never ran, want %d"},
		{r.Extra, extra, "%d runs beyond the first of a key, want %d"},
	} {
		if c.got != nil && *c.got != c.want {
			return fmt.Sprintf(c.text, *c.got, c.want)
		}
	}
	return ""
}
