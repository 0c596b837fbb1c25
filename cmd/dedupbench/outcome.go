package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"
)

// outcome is everything that was measured, and where.
type outcome struct {
	Method  string   `json:"method"`
	Place   string   `json:"place"` // date, machine and versions
	Results []result `json:"results"`
}

// result is one cell.
type result struct {
	Cell      cell       `json:"cell"`
	Standings []standing `json:"contenders"`
	Invalid   []string   `json:"invalid,omitempty"` // why the cell is, one line per run
	Notes     []string   `json:"notes,omitempty"`   // what else to know of a run
}

// standing is one contender in one cell. Figures that it did not report are nil.
type standing struct {
	Name   string   `json:"name"`
	Rate   *spread  `json:"messages_per_second"`
	Ratio  *spread  `json:"ratio_to_plain,omitempty"` // within each repetition
	CPU    *spread  `json:"cpu_us_per_message"`
	Over   *spread  `json:"cpu_us_over_plain,omitempty"` // within each repetition
	P50    *spread  `json:"added_p50_us,omitempty"`
	P99    *spread  `json:"added_p99_us,omitempty"`
	Trips  *spread  `json:"trips_per_message,omitempty"`
	Server *spread  `json:"server_cpu_us_per_message,omitempty"`
	Runs   []sample `json:"runs"`
}

// newResult sums up the samples of each contender in field.
func newResult(c cell, field []contender, samples [][]sample) result {
	r := result{Cell: c}
	var plain []sample
	for i, who := range field {
		if who.Name == plainName {
			plain = samples[i]
		}
		for rep, s := range samples[i] {
			run := fmt.Sprintf("%s, repetition %d: ", who.Name, rep+1)
			if s.Invalid != "" {
				r.Invalid = append(r.Invalid, run+"invalid: "+s.Invalid)
			}
			if s.Deferred > 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("%s%d messages came again after a while", run, s.Deferred))
			}
		}
	}
	for i, who := range field {
		r.Standings = append(r.Standings, newStanding(who.Name, samples[i], plain))
	}
	return r
}

func newStanding(name string, runs, plain []sample) standing {
	s := standing{Name: name, Runs: runs}
	of := func(get func(sample) *float64) *spread {
		var values []float64
		for _, run := range runs {
			if v := get(run); v != nil && run.Invalid == "" {
				values = append(values, *v)
			}
		}
		return spreadOf(values)
	}
	s.Rate = of(func(r sample) *float64 { return &r.Rate })
	s.CPU = of(func(r sample) *float64 { return &r.CPU })
	s.P50 = of(func(r sample) *float64 { return r.P50 })
	s.P99 = of(func(r sample) *float64 { return r.P99 })
	s.Trips = of(func(r sample) *float64 { return r.Trips })
	s.Server = of(func(r sample) *float64 { return r.Server })
	var ratios, over []float64
	for i, run := range runs {
		if i < len(plain) && plain[i].Rate > 0 && plain[i].Invalid == "" && run.Invalid == "" {
			ratios = append(ratios, run.Rate/plain[i].Rate)
			over = append(over, run.CPU-plain[i].CPU)
		}
	}
	s.Ratio = spreadOf(ratios)
	if name != plainName {
		s.Over = spreadOf(over)
	}
	return s
}

func (o outcome) invalid() (count int) {
	for _, r := range o.Results {
		if len(r.Invalid) > 0 {
			count++
		}
	}
	return count
}

// facts is what the figures say nothing without.
func (c *contest) facts(ctx context.Context) outcome {
	method := fmt.Sprintf("Median of %d interleaved runs of %s messages of %d bytes",
		c.Reps, number(float64(c.Messages)), c.Size)
	if local(c.NameServer) && c.storeIsLocal() {
		method += "; servers and consumers share the machine"
	}
	place := fmt.Sprintf("%s, %s, %d cores, %s/%s, %s", time.Now().UTC().Format(time.DateOnly),
		processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if about := c.server.about(ctx); about != "" {
		place += ", " + about
	}
	return outcome{Method: method, Place: place}
}

// local reports whether host:port is on this machine.
func local(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// processor is what Linux calls it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere it has no name
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// save writes the files that the flags name.
func (o outcome) save(s settings) error {
	var errs []error
	if s.JSON != "" {
		text, err := json.MarshalIndent(o, "", "  ")
		if err == nil {
			err = os.WriteFile(s.JSON, append(text, '\n'), 0o644)
		}
		errs = append(errs, err)
	}
	if s.SVG != "" {
		errs = append(errs, os.WriteFile(s.SVG, []byte(o.chart()), 0o644))
	}
	if s.Write != "" {
		errs = append(errs, replaceBlock(s.Write, s.Store, o.markdown()))
	}
	return errors.Join(errs...)
}
