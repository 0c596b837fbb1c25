package main

import "testing"

func TestSpreadIsMedianLowestAndHighest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{4, 1}, spread{2.5, 1, 4}},
		{[]float64{9, 1, 4}, spread{4, 1, 9}},
		{[]float64{5, 4, 3, 2, 1}, spread{3, 1, 5}},
		{[]float64{-2, 8, -4, 6}, spread{2, -4, 8}},
	} {
		if got := spreadOf(c.values); got == nil || *got != c.want {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
	if got := spreadOf(nil); got != nil {
		t.Errorf("no values: got %v, want nil", *got)
	}
}

func TestPercentileIsAValueThatWasMeasured(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		sorted  []float64
		percent int
		want    float64
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0, 1},
		{[]float64{7}, 99, 7}, {[]float64{1, 2, 3}, 50, 2}, {nil, 50, 0},
	} {
		if got := percentile(c.sorted, c.percent); got != c.want {
			t.Errorf("p%d of %d values: got %v, want %v", c.percent, len(c.sorted), got, c.want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{
		"0": 0, "0.04": 0.041, "0.94": 0.944, "1.0": 0.999, "5.2": 5.23, "99.9": 99.94, "100": 99.96, "999": 999.4,
		"1,000": 999.6, "20,000": 20_000, "1,234,568": 1_234_567.8, "-3.1": -3.14, "-1,200": -1200,
	} {
		if got := number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
	if got := number(-0.001); got != "0" {
		t.Errorf("-0.001: got %q, want 0", got)
	}
}
