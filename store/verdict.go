package store

import (
	"fmt"
	"time"
)

// State is what a claim met. The zero State is invalid and means "deliver
// again", like every value a caller does not know.
type State uint8

// The states a claim can answer.
const (
	Claimed State = iota + 1 // the caller owns the key and may run it
	Busy                     // another owner's lease is running
	Done                     // the effect happened; do not run
	Parked                   // taken out of circulation; do not run
	Corrupt                  // the record cannot be understood; do not run, tell somebody
)

var stateNames = [...]string{"invalid", "claimed", "busy", "done", "parked", "corrupt"}

// String is the state's name in lower case, "invalid" for the zero State.
func (s State) String() string { return name(stateNames[:], uint8(s), "State") }

// Verdict is the answer to a claim.
type Verdict struct {
	State   State
	Left    time.Duration // Busy: the other owner's remaining lease, by the store's clock
	Attempt int           // Claimed: the number of this attempt; above 1 an earlier one started and did not complete
	Rearmed bool          // the record had lost its expiry and was given a new one
}

// Completion tells what Complete found. The zero Completion is invalid.
type Completion uint8

// The answers of a complete. All mean that the record now says done.
const (
	Completed   Completion = iota + 1 // the caller's own claim, or a repeat of the same complete
	AlreadyDone                       // somebody else had completed the key
	Late                              // the claim had been released, parked or taken over meanwhile
	Recreated                         // there was no record any more
	Repaired                          // there was a record that could not be understood
)

var completionNames = [...]string{"invalid", "completed", "already done", "late", "recreated", "repaired"}

// String is the completion's name in lower case, "invalid" for the zero value.
func (c Completion) String() string { return name(completionNames[:], uint8(c), "Completion") }

func name(names []string, i uint8, kind string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
