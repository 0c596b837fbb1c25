package listener_test

import (
	"fmt"
	"time"
)

// figures are what a judge has counted.
type figures struct {
	messages, known, runs, reruns, failed, cutShort int
	joins, leaves, kills, pauses                    int
	restarts, hangs, cuts                           int
	skipped, deferred, unrecorded                   int

	lost         int // keys that were sent and of which no run succeeded
	grantedAfter int // claims that were sent and granted although their key was known to be done
	unclaimed    int // runs without a claim
	begunAfter   int // runs whose key was done between their claim and their begin
	overlaps     int // pairs of runs at one time
	explained    int // of those, the ones for which a pause is to blame
}

// String is the line of figures of a whole run.
func (f figures) String() string {
	return fmt.Sprintf("messages=%d keys=%d runs=%d kills=%d pauses=%d restarts=%d hangs=%d cuts=%d joins=%d leaves=%d "+
		"skipped=%d deferred=%d reruns=%d runs_failed=%d runs_killed=%d unrecorded=%d begun_after_record=%d "+
		"lost=%d unclaimed=%d granted_after_record=%d overlaps_explained=%d overlaps_unexplained=%d",
		f.messages, f.known, f.runs, f.kills, f.pauses, f.restarts, f.hangs, f.cuts, f.joins, f.leaves,
		f.skipped, f.deferred, f.reruns, f.failed, f.cutShort, f.unrecorded, f.begunAfter,
		f.lost, f.unclaimed, f.grantedAfter, f.explained, f.overlaps-f.explained)
}

// bad counts what must not be.
func (f figures) bad() int { return f.lost + f.unclaimed + f.grantedAfter + f.overlaps - f.explained }

// missing tells of what there was too little of for a chaos of d with so many
// messages in a second.
func (f figures) missing(d time.Duration, perSecond int) (missing []string) {
	message := time.Second / time.Duration(perSecond)
	for _, floor := range []struct {
		what  string
		got   int
		every time.Duration
	}{
		{"messages", f.messages, message}, {"skipped copies", f.skipped, 10 * message},
		{"kills", f.kills, 6 * time.Second}, {"pauses", f.pauses, 15 * time.Second},
		{"leaves", f.leaves - fleetSize, 30 * time.Second}, // all leave in the end
		{"restarts", f.restarts, time.Minute}, {"hangs", f.hangs, time.Minute}, {"cuts", f.cuts, 30 * time.Second},
	} {
		if want := int(d / floor.every); floor.got < want {
			missing = append(missing, fmt.Sprintf("got %d %s, want %d", floor.got, floor.what, want))
		}
	}
	return missing
}
