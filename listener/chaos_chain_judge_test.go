package listener_test

import (
	"fmt"
	"time"
)

// chainJudge reads the diary of a chain. It takes the notes about bookings, which
// the second step and the broker's questions leave, and has its judge read the
// others.
type chainJudge struct {
	*judge
	killed   map[int]bool    // processes
	arrivals map[string]note // the first one of each booking
	orphans  map[string]bool // bookings of killed processes that have been counted
	opened   map[string]int  // how often nobody knew yet how a booking had ended
	stirred  time.Time       // when a note about a booking was written last
	wrong    []note          // the first strays
	chainFigures
}

// chainFigures are what a chainJudge has counted.
type chainFigures struct {
	shipRuns, shipFailed           int
	deliveries                     int // to the second step
	published, withdrawn, leftOpen int // answers to a broker that has asked
	byOthers                       int // of these, given by another process than the one that had booked
	mostOpen                       int // answers that had left one message open before it was published
	slowest                        int // milliseconds from a question to its answer
	rescued, buried                int // messages of killed processes that were published, and withdrawn, so

	strays   int // messages that arrived although their booking is not there
	unbooked int // shipments whose booking is not there
}

func newChainJudge() *chainJudge {
	return &chainJudge{
		judge: newJudge(lease), killed: map[int]bool{}, arrivals: map[string]note{}, orphans: map[string]bool{},
		opened: map[string]int{},
	}
}

func (j *chainJudge) read(n note) {
	if keyOf(n.key) == n.key {
		if n.kind == killed {
			j.killed[n.process] = true
		}
		j.judge.read(n)
		return
	}
	j.stirred = n.at
	switch n.kind {
	case runBegan:
		j.shipRuns++
	case runFailed:
		j.shipFailed++
	case arrived:
		j.deliveries++
		if _, known := j.arrivals[n.key]; !known {
			j.arrivals[n.key] = n
		}
	case published, withdrawn, leftOpen:
		j.answer(n)
	}
}

// answer counts an answer, and whose it is.
func (j *chainJudge) answer(n note) {
	j.slowest = max(j.slowest, n.run)
	by := bookedBy(n.key)
	if by != n.process {
		j.byOthers++
	}
	_, known := j.arrivals[n.key]
	orphan := j.killed[by] && !known && !j.orphans[n.key]
	switch n.kind {
	case leftOpen:
		j.leftOpen++
		j.opened[n.key]++
		return
	case published:
		j.published++
		j.mostOpen = max(j.mostOpen, j.opened[n.key])
		if orphan {
			j.rescued++
		}
	case withdrawn:
		j.withdrawn++
		if orphan {
			j.buried++
		}
	}
	j.orphans[n.key] = j.orphans[n.key] || orphan
}

// settled reports whether nothing has arrived for a while, nor has the broker asked:
// it asks about each open message every second.
func (j *chainJudge) settled() bool { return time.Since(j.stirred) > 5*time.Second }

// compare finds messages and shipments whose booking is not there. Its arguments
// are how many rows each step has of a booking.
func (j *chainJudge) compare(booked, shipped map[string]int) {
	for booking, n := range j.arrivals {
		if booked[booking] > 0 {
			continue
		}
		if j.strays++; len(j.wrong) < 5 {
			j.wrong = append(j.wrong, note{key: keyOf(booking), at: n.at})
		}
	}
	for booking := range shipped {
		if booked[booking] == 0 {
			j.unbooked++
		}
	}
}

func (f chainFigures) String() string {
	return fmt.Sprintf("ship_runs=%d ship_runs_failed=%d deliveries=%d asked_published=%d asked_withdrawn=%d "+
		"asked_left_open=%d asked_most_open=%d asked_slowest_ms=%d asked_of_others=%d "+
		"rescued=%d buried=%d strays=%d unbooked=%d",
		f.shipRuns, f.shipFailed, f.deliveries, f.published, f.withdrawn,
		f.leftOpen, f.mostOpen, f.slowest, f.byOthers, f.rescued, f.buried, f.strays, f.unbooked)
}

// missing tells of what the broker has not asked, or had no need to ask others.
func (f chainFigures) missing() (missing []string) {
	for _, floor := range []struct {
		what string
		got  int
	}{
		{"committed transactions that the broker asked about", f.published},
		{"rolled back ones", f.withdrawn}, {"answers of another process", f.byOthers},
	} {
		if floor.got == 0 {
			missing = append(missing, "got no "+floor.what)
		}
	}
	return missing
}
