package listenertest

import (
	"errors"
	"fmt"
	"strings"
)

// TestCrashes runs body once without a fault, which shows all the places where
// one can happen, and then once for each of faults at each place: run by run the
// same, up to the place. Without faults it takes those of [Instantly].
//
// body makes whatever outlives a crash anew, starts a process with [Run.Start],
// delivers messages with [Run.Deliver] and returns what is wrong with the effects,
// or nil. TestCrashes returns nil if no run found fault, else every [*Failure],
// joined. It stops after the first run if that has failed already.
//
// It is deterministic if body is. Handlers that run at the same time, of one
// batch, reach their places in no fixed order: give their effects names of their
// own.
func TestCrashes(body func(*Run) error, faults ...Fault) error {
	if len(faults) == 0 {
		faults = Instantly()
	}
	dry := newRun(place{}, 0)
	if err := dry.try(body); err != nil {
		return err
	}
	var errs []error
	runs := 0
	for _, p := range dry.places {
		for _, f := range faults {
			if f.suits(p) {
				runs++
				errs = append(errs, newRun(p, f).try(body))
			}
		}
	}
	if runs == 0 {
		return errors.New("listenertest: no place for these faults: " +
			"mark effects with Run.Effect, and deliver a message with Run.Deliver")
	}
	return errors.Join(errs...)
}

// Failure tells in which run of [TestCrashes] something was wrong.
type Failure struct {
	Point string   // fault and place, such as crash after "charge", or no fault
	Trace []string // one line for each delivery of the run
	Err   error
}

// Error is one line about the run and its error, and the lines of the trace.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "listenertest: %s: %v", f.Point, f.Err)
	for _, line := range f.Trace {
		b.WriteString("\n\t" + line)
	}
	return b.String()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }
