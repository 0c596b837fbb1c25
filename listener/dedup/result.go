package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Outcome is what became of one delivery. The zero Outcome is invalid and must
// be treated like Deferred.
type Outcome uint8

// The outcomes of a delivery.
const (
	Ran      Outcome = iota + 1 // the callback ran and succeeded: acknowledge
	Skipped                     // the effect was there already: acknowledge
	Deferred                    // nothing ran, or nothing is recorded: try again later, do not acknowledge
	Failed                      // the callback ran and failed: do not acknowledge
)

var outcomeNames = [...]string{"invalid", "ran", "skipped", "deferred", "failed"}

// String is the outcome in lower case, as in events and metrics.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Finished reports whether the message may be acknowledged.
func (o Outcome) Finished() bool { return o == Ran || o == Skipped }

// Result is the whole of what became of one delivery.
type Result struct {
	Outcome    Outcome
	Err        error            // why it was deferred or failed; with Ran, why it could not be recorded
	Left       time.Duration    // Deferred: how long the key may stay claimed by another; 0 when unknown
	Attempt    int              // number of this attempt when it was granted, else 0
	Completion store.Completion // what Complete found, zero when nothing was recorded

	Unprotected bool // ran without a claim, by OutageRun
	// Unrecorded says that the effect is there but that the store did not take it
	// in time. This process remembers it, runs no copy of it and goes on trying,
	// up to [Options].JournalLimit. The message may be acknowledged if the
	// Outcome says so, but should not be if it comes back anyway with others of
	// its batch: then not before Left is over.
	Unrecorded bool
	Cancelled  bool // the callback's context was cancelled because its claim was lost or over
	Rearmed    bool // the record had lost its expiry and was given a new one
}

// Causes with which the context of a running callback is cancelled.
var (
	// ErrLeaseLost says that another owner may run the key now.
	ErrLeaseLost = errors.New("dedup: lease lost")
	// ErrMaxConsume says that the callback held its key for longer than MaxConsume.
	ErrMaxConsume = errors.New("dedup: max consume exceeded")
)

// Reasons for which a delivery is deferred or failed, in [Result].Err.
var (
	// ErrBusy is wrapped when another owner's lease is running.
	ErrBusy = errors.New("dedup: key is busy")
	// ErrParked says that the key was taken out of circulation.
	ErrParked = errors.New("dedup: key is parked")
	// ErrCorrupt says that the record of the key cannot be understood.
	ErrCorrupt = errors.New("dedup: record cannot be understood; inspect and remove it")
	// ErrUnverified says that the Verifier could not tell whether the effect happened.
	ErrUnverified = errors.New("dedup: verifier could not tell whether the effect happened")
	// ErrNested says that a callback delivered its own key again.
	ErrNested = errors.New("dedup: key is already claimed by the surrounding callback")
	// ErrExhausted is wrapped when a message deferred for no fault of its own has
	// used up its deliveries and goes to the dead-letter queue.
	ErrExhausted = errors.New("dedup: deferred on its last delivery")
	// ErrGoexit says that the callback ended its goroutine instead of returning.
	ErrGoexit = errors.New("dedup: callback called runtime.Goexit")
)

// PanicError is a panic of the callback, turned into an error.
type PanicError struct {
	Value any    // what the callback panicked with
	Stack []byte // where
}

// Error shows the value, cut after 200 bytes, without the stack.
func (e *PanicError) Error() string {
	s := fmt.Sprint(e.Value)
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return "dedup: callback panicked: " + s
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

type permanentError struct{ err error }

// Permanent marks the error of a callback as one that no retry can mend. The
// key is parked and the message is not delivered again. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// IsPermanent reports whether err, or an error it wraps, came from [Permanent].
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

type alreadyDoneError struct{ err error }

// AlreadyDone marks the error of a callback that found its effect in place, such
// as the duplicate-key error of a business table whose own unique index keeps
// copies out. The key is completed and the message is skipped, not run again.
// AlreadyDone(nil) is nil.
func AlreadyDone(err error) error {
	if err == nil {
		return nil
	}
	return &alreadyDoneError{err}
}

func (e *alreadyDoneError) Error() string { return e.err.Error() }
func (e *alreadyDoneError) Unwrap() error { return e.err }

// IsAlreadyDone reports whether err, or an error it wraps, came from
// [AlreadyDone].
func IsAlreadyDone(err error) bool {
	var a *alreadyDoneError
	return errors.As(err, &a)
}
