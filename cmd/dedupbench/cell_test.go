package main

import (
	"testing"
	"time"
)

func TestACellSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]cell{
		"batch 1, 64 callbacks, 0 % copies, no-op":            {1, 64, 0, 0, 0},
		"batch 32, 20 callbacks, 20 % copies, 1ms at 5,000/s": {32, 20, 20, time.Millisecond, 5000},
		"batch 1, 20 callbacks, 0 % copies, 2ms":              {1, 20, 0, 2 * time.Millisecond, 0},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOnlyCallbacksThatTakeTimeArePaced(t *testing.T) {
	t.Parallel()
	s := parsed(t, "-work", "0,1ms", "-rate", "700")
	for _, c := range s.cells() {
		if want := map[time.Duration]int{0: 0, time.Millisecond: 700}[c.Work]; c.Rate != want {
			t.Errorf("%v: got %d/s, want %d", c, c.Rate, want)
		}
	}
}
