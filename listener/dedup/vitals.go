package dedup

import (
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// vitals are the latest answers of each part of the store. Like the machine they
// have no clock of their own.
type vitals map[string]*vital

type vital struct {
	store.Beat
	number         int64 // of the pulse that was answered
	sent, answered time.Duration
	open           []int64 // numbers without an answer, which may arrive late
}

// checkup is one pulse and its answers.
type checkup struct {
	number         int64
	beats          []store.Beat
	complete       bool // all parts have answered
	sent, answered time.Duration
}

const (
	// clockTolerance is what a clock may be off between two pulses. A server's
	// own is corrected in smaller steps.
	clockTolerance = time.Second
	// maxOpen is how many pulses may be on their way for longer than a call.
	maxOpen = 1000
)

// judge compares the answers with those before, which they replace. A part that
// answers for the first time has nothing to be compared with.
func (v *vitals) judge(c checkup) (found []Loss) {
	before, now := *v, vitals{}
	for _, b := range c.beats {
		was := before[b.Part]
		next := &vital{Beat: b, number: c.number, sent: c.sent, answered: c.answered}
		if was != nil {
			next.open = was.open
			if l, lost := was.compare(b, c, before.moved(was, b, c)); lost {
				found = append(found, l)
			}
		}
		now[b.Part] = next
	}
	for part, was := range before {
		if now[part] == nil && !c.complete {
			was.open = append(was.open, c.number)
			was.open = was.open[max(0, len(was.open)-maxOpen):]
			now[part] = was
		}
	}
	*v = now
	return found
}

// moved reports whether the part went to another server of a cluster with all
// that it had: the old one is still there, or the new one was there before.
func (v vitals) moved(was *vital, b store.Beat, c checkup) bool {
	for _, other := range c.beats {
		if other.Run == was.Run {
			return true
		}
	}
	for _, other := range v {
		if other.Run == b.Run {
			return true
		}
	}
	return false
}

// compare tells what a part has lost since it answered last.
func (was *vital) compare(b store.Beat, c checkup, moved bool) (l Loss, lost bool) {
	l = Loss{Part: b.Part, Server: b.Server}
	same := b.Run == was.Run
	if b.Before < was.number && !was.late(b.Before) && !was.outlived(b, c) {
		l.Missing = was.number - b.Before
	}
	l.Replaced = !same && !moved
	if same && b.Evicted > was.Evicted {
		l.Evicted = b.Evicted - was.Evicted
	}
	if same || !moved {
		l.Jump = was.jump(b, c)
	}
	return l, l.Missing > 0 || l.Replaced || l.Evicted > 0 || l.Jump != 0
}

// late reports whether number is that of a pulse that was given up and arrived
// behind a later one.
func (was *vital) late(number int64) bool {
	return slices.Contains(was.open, number)
}

// outlived reports whether the store may have forgotten the number by itself: by
// its own clock or by ours. They differ when one was set, or a machine slept.
func (was *vital) outlived(b store.Beat, c checkup) bool {
	return max(c.answered-was.sent, b.Time.Sub(was.Time)) >= store.PulseKeep
}

// jump is by how much the store's clock went on beyond what it can have, or fell
// short of what it must, between two of its answers; 0 within the tolerance.
func (was *vital) jump(b store.Beat, c checkup) time.Duration {
	passed, least, most := b.Time.Sub(was.Time), c.sent-was.answered, c.answered-was.sent
	switch {
	case passed > most+clockTolerance:
		return passed - most
	case passed < least-clockTolerance:
		return passed - least
	}
	return 0
}
