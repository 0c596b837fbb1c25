package listener_test

import (
	"strings"
	"testing"
	"time"
)

// Each story is a diary: kind, process and booking of every note. The orders A and
// B are booked in it, by process 1.
func TestAJudgeOfAChainFindsWhatWasPublishedWithoutABooking(t *testing.T) {
	t.Parallel()
	const a, b, other = "A@1.1", "B@1.2", "A@1.3"
	for name, c := range map[string]struct {
		story   string
		shipped []string
		want    chainFigures
	}{
		"a shipment each": {
			"a2" + a + " b2" + a + " e2" + a + " a3" + b + " b3" + b + " f3" + b + " b3" + b + " e3" + b, []string{a, b},
			chainFigures{shipRuns: 3, shipFailed: 1, deliveries: 2},
		},
		"copies of a message": {"a2" + a + " a3" + a + " a2" + a, []string{a}, chainFigures{deliveries: 3}},
		"a message of an attempt that was rolled back": {
			"a2" + a + " a3" + other + " a3" + other, []string{a}, chainFigures{deliveries: 3, strays: 1},
		},
		"a shipment on the word of such an attempt": {
			"a3" + other + " b3" + other + " e3" + other, []string{other, b},
			chainFigures{shipRuns: 1, deliveries: 1, strays: 1, unbooked: 1},
		},
		"a broker that asks": {
			"q1" + a + " q2" + a + " q1" + b + " y1" + a + " y1" + b, nil,
			chainFigures{published: 2, leftOpen: 3, mostOpen: 2, byOthers: 1},
		},
		"a broker that asks about an attempt that was rolled back": {
			"q3" + other + " q1" + other + " t3" + other, nil,
			chainFigures{withdrawn: 1, leftOpen: 2, byOthers: 2},
		},
		"a process that was killed": {
			"k1 q2" + a + " y2" + a + " a2" + a + " y3" + a + " t2" + other + " t2" + other, nil,
			chainFigures{
				deliveries: 1, published: 2, withdrawn: 2, leftOpen: 1, mostOpen: 1, byOthers: 5, rescued: 1, buried: 1,
			},
		},
		"one that was killed later, or told the broker before": {
			"y2" + a + " k1 a2" + b + " y2" + b, nil, chainFigures{deliveries: 1, published: 2, byOthers: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newChainJudge()
			for _, word := range strings.Fields(c.story) {
				j.read(note{kind: word[0], process: int(word[1] - '0'), key: word[2:], at: time.Unix(0, 0)})
			}
			shipped := map[string]int{}
			for _, booking := range c.shipped {
				shipped[booking]++
			}
			j.compare(map[string]int{a: 1, b: 1}, shipped)
			if j.chainFigures != c.want {
				t.Errorf("got  %v\nwant %v", j.chainFigures, c.want)
			}
			if len(j.wrong) != c.want.strays {
				t.Errorf("got %v, want %d strays", j.wrong, c.want.strays)
			}
		})
	}
}

func TestAChainOfWhichTheBrokerDidNotAskHasMissedWhatItIsFor(t *testing.T) {
	t.Parallel()
	for want, f := range map[int]chainFigures{
		0: {published: 1, withdrawn: 1, byOthers: 1}, 1: {published: 1, withdrawn: 1}, 3: {leftOpen: 1},
	} {
		if got := f.missing(); len(got) != want {
			t.Errorf("%v: got %q, want %d", f, got, want)
		}
	}
}
