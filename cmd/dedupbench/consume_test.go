package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestContendersTakeTurnsAndEachBeginsOnce(t *testing.T) {
	t.Parallel()
	field := []contender{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	var order []string
	samples, err := interleave(field, 1, 3, func(who contender, turn int) (sample, error) {
		order = append(order, who.Name)
		return sample{Rate: float64(turn), CPU: float64(who.Name[0])}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, ""), "abcbcacababc"; got != want {
		t.Errorf("got the order %s, want %s", got, want)
	}
	for i, who := range field {
		var turns []float64
		for _, s := range samples[i] {
			if s.CPU != float64(who.Name[0]) {
				t.Errorf("%s was given a sample of %c", who.Name, rune(s.CPU))
			}
			turns = append(turns, s.Rate)
		}
		if want := []float64{1, 2, 3}; !reflect.DeepEqual(turns, want) {
			t.Errorf("%s: got the turns %v, want %v: the warm-up does not count", who.Name, turns, want)
		}
	}
}

func TestNobodyPlaysOnAfterAnError(t *testing.T) {
	t.Parallel()
	stop, turns := errors.New("stop"), 0
	_, err := interleave([]contender{{Name: "a"}, {Name: "b"}}, 0, 5, func(contender, int) (sample, error) {
		turns++
		return sample{}, stop
	})
	if !errors.Is(err, stop) || turns != 1 {
		t.Errorf("got %v after %d turns, want the error after one", err, turns)
	}
}

func TestProgressSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]sample{
		"12,000 messages/s":      {Rate: 12_000, CPU: 31},
		"31.0 µs CPU (warm-up)":  {Rate: 12_000, CPU: 31},
		"invalid: gone mad (wa":  {Rate: 12_000, Invalid: "gone mad"},
		"ours     invalid: gone": {Invalid: "gone mad"},
	} {
		if got := describe(contender{Name: "ours"}, s, true); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
