package store

import (
	"errors"
	"fmt"
)

// ErrNotOwner says that the token does not own the key now. Nothing changed.
var ErrNotOwner = errors.New("store: the token does not own the key")

// ErrInvalid says that an argument is missing or out of bounds. Nothing was
// sent to the store.
var ErrInvalid = errors.New("store: invalid argument")

// Class tells what a failed call may have done and whether to repeat it. The
// zero Class is invalid; [ClassOf] never returns it.
type Class uint8

// The classes of failures.
const (
	NotApplied Class = iota + 1 // nothing changed; repeat when the store is back
	Unknown                     // it may have been applied; repeat with the same token
	Permanent                   // it fails until somebody changes something; alarm
)

var classNames = [...]string{"invalid", "not applied", "outcome unknown", "permanent"}

// String is the class in words, "invalid" for the zero Class.
func (c Class) String() string { return name(classNames[:], uint8(c), "Class") }

// Error is a failed call of a store.
type Error struct {
	Driver string // package name of the store, such as "redisstore"
	Op     string // method in lower case, such as "claim"
	Class  Class
	Err    error // the cause, free of secrets and of message bodies
}

// Error names driver, operation, cause and class.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %v (%v)", e.Driver, e.Op, e.Err, e.Class)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err: that of the [Error] it wraps, Permanent for
// [ErrInvalid], NotApplied for [ErrNotOwner], and Unknown for anything else, a
// context's end included.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Class != 0:
		return e.Class
	case errors.Is(err, ErrInvalid):
		return Permanent
	case errors.Is(err, ErrNotOwner):
		return NotApplied
	}
	return Unknown
}
