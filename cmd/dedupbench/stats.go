package main

import (
	"slices"
	"strconv"
	"strings"
)

// spread is the median of some figures, with the lowest and the highest.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// spreadOf is nil for no values.
func spreadOf(values []float64) *spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return &spread{median, sorted[0], sorted[len(sorted)-1]}
}

// percentile is the value that so many percent of sorted values do not exceed.
func percentile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}

// number prints two decimals below 1, one below 100, and groups of thousands.
func number(v float64) string {
	abs, sign := v, ""
	if v < 0 {
		abs, sign = -v, "-"
	}
	if abs < 99.95 {
		decimals := 1
		if abs < 0.995 {
			decimals = 2
		}
		text := strconv.FormatFloat(abs, 'f', decimals, 64)
		if strings.Trim(text, "0.") == "" {
			return "0"
		}
		return sign + text
	}
	digits := strconv.FormatFloat(abs, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// ratio prints a share of 1.
func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
