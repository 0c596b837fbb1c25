package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Transactor is a Store whose records are in a database that may hold the user's
// own data, too.
type Transactor interface {
	// Transact claims r.Key in a transaction of the database. If the claim is
	// granted it calls do, which writes what the key is about through tx, and
	// commits that together with the record, which says done for r.Keep then.
	// When it returns the State Claimed and no error, both are committed. When it
	// returns another State, do was not called and nothing has changed: Done and
	// Parked as for a claim, Busy when another transaction or claim is at it.
	//
	// When do fails, everything is rolled back and its error is returned as it
	// is. Other errors are *Error: with NotApplied nothing has changed, although
	// do may have been called; with Unknown the commit may have happened, which a
	// repeat finds out: the key is Done then.
	//
	// do must neither commit nor roll back, nor go on with tx after it has
	// returned. A transaction of another key that needs the same rows of the user
	// waits for this one; a deadlock of the two is an error of do.
	Transact(ctx context.Context, r TxRequest,
		do func(ctx context.Context, tx *sql.Tx, attempt int) error) (Verdict, error)
}

// TxRequest is what [Transactor].Transact is asked for. All fields are required.
type TxRequest struct {
	Key   Key
	Token Token         // new for every call
	Keep  time.Duration // how long done is remembered
}

// Validate reports every field that is missing or out of bounds. Its errors
// wrap [ErrInvalid].
func (r TxRequest) Validate() error {
	var token error
	if r.Token.IsZero() {
		token = fmt.Errorf("%w: Token is zero", ErrInvalid)
	}
	return errors.Join(r.Key.Validate(), token, checkDuration("Keep", r.Keep))
}
