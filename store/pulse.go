package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How long a [Pulser] remembers what pulses tell it.
const (
	PulseKeep = time.Hour           // the number of a node
	DoubtKeep = 31 * 24 * time.Hour // that records of an application are in doubt
)

// Pulser is a Store that helps to find out whether its server has lost records.
// Each user counts its pulses; a store that does not remember the latest number
// of a user has lost what was written after the number that it does remember.
type Pulser interface {
	// Pulse has every part of the store remember p.Number, for PulseKeep, and
	// answers with one Beat for each, after one round trip. What p.Node of
	// another application or another node counts is apart. A number that
	// arrives late takes the place of a higher one. Parts that did not answer
	// are left out, and the error tells why.
	//
	// A pulse with Doubt has every part remember, for DoubtKeep, that the
	// application doubts its records from now on, and tell all its nodes.
	Pulse(ctx context.Context, p Pulse) ([]Beat, error)
}

// Pulse is one sign of life of one user of a store. All fields but the last are
// required.
type Pulse struct {
	Application string
	Node        Token // of the user: one that nobody else counts with
	Number      int64 // 1 or more, higher with each pulse of the node
	Doubt       bool  // records may have been lost just now
}

// Validate reports every field that is missing. Its errors wrap [ErrInvalid].
func (p Pulse) Validate() error {
	var errs []error
	if p.Application == "" {
		errs = append(errs, fmt.Errorf("%w: Pulse.Application is empty", ErrInvalid))
	}
	if p.Node.IsZero() {
		errs = append(errs, fmt.Errorf("%w: Pulse.Node is zero", ErrInvalid))
	}
	if p.Number < 1 {
		errs = append(errs, fmt.Errorf("%w: Pulse.Number is %d, want 1 or more", ErrInvalid, p.Number))
	}
	return errors.Join(errs...)
}

// Beat is what one part of a store answers to a [Pulse]. A part loses records
// independently of the others, as a master of a cluster does.
type Beat struct {
	Part    string    // names the part, whichever server has it
	Server  string    // address of its server, for people to read; may be ""
	Before  int64     // the number that was remembered before; 0: none
	Run     string    // names the process of the server: another after a restart or a failover
	Evicted int64     // what this process has dropped for want of memory so far
	Time    time.Time // by the store's clock

	// Doubt is how long ago a pulse of the application said Doubt last, 0 for
	// this one, and -1 if none has.
	Doubt time.Duration
}
