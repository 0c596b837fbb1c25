package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoRecord says that a key has no record, or only one that counts as absent.
var ErrNoRecord = errors.New("store: the key has no record")

// ErrInFlight says that the lease of a claim is running. Nothing changed.
var ErrInFlight = errors.New("store: a claim of the key is in flight")

// Status is where a record is in its life. The zero Status is invalid.
type Status uint8

// The life of a record.
const (
	StatusConsuming Status = iota + 1 // an owner's lease is running
	StatusLapsed                      // the lease is over, or the claim was given back; the attempt is remembered
	StatusConsumed                    // the effect happened
	StatusParked                      // taken out of circulation
	StatusCorrupt                     // the store cannot understand the record
)

var statusNames = [...]string{"invalid", "CONSUMING", "LAPSED", "CONSUMED", "PARKED", "CORRUPT"}

// String is the status in upper case, "invalid" for the zero Status.
func (s Status) String() string { return name(statusNames[:], uint8(s), "Status") }

// Record is what a store remembers of one key, for people and tools to read. It
// was true when the store answered; only a claim tells who may run. All times
// are by the store's clock.
type Record struct {
	Key    Key    // a part over MaxPart may be known by its digest only, see Hashed
	Hashed bool   // a part of Key is "~" and a digest: calls cannot name this record by Key
	Status Status // what follows depends on it; what the store does not know is zero

	Token   Token         // who claimed, released, completed or parked
	Attempt int           // started runs, the running one included
	Lease   time.Duration // of a claim: how long it holds without renewal
	Horizon time.Duration // of a claim: how long it is remembered after its lease
	Fence   int64         // the number drawn last, 0 if none

	LeaseLeft time.Duration // of a claim: until its lease ends; negative since it has ended or was given back
	ExpiresIn time.Duration // until the record counts as absent
}

// Getter is a Store whose records can be read.
type Getter interface {
	// Get returns the record of k, or ErrNoRecord. It changes nothing.
	Get(ctx context.Context, k Key) (Record, error)
}

// Forgetter is a Store whose records can be removed by hand.
type Forgetter interface {
	// Forget removes the record of k, so that the next claim is the first. It
	// returns ErrNoRecord when there is none, and ErrInFlight, changing nothing,
	// while the lease of a claim is running.
	Forget(ctx context.Context, k Key) error
}

// Scanner is a Store whose records can be listed.
type Scanner interface {
	// Scan looks at no more than q.Limit records after q.After and returns those
	// that q asks for. A page may be empty although more follow: only Next tells
	// the end. A record that exists during all the pages of a scan and does not
	// change is returned exactly once, or again only where the driver says so; one
	// that changes may be missed or be returned again.
	Scan(ctx context.Context, q Query) (Page, error)
}

// MaxScan is the most records that one page of a scan looks at.
const MaxScan = 10000

// Query asks for records. Limit is required.
type Query struct {
	Application string        // "" for every application
	Status      Status        // 0 for every status
	Overdue     time.Duration // with StatusLapsed: only records whose lease ended at least so long ago
	After       string        // Page.Next of the page before, "" for the first; of a query that differs in Limit only
	Limit       int           // how many records to look at, 1 to MaxScan
}

// Validate reports every field that is out of bounds. Its errors wrap
// [ErrInvalid].
func (q Query) Validate() error {
	var errs []error
	if q.Status > StatusCorrupt {
		errs = append(errs, fmt.Errorf("%w: Query.Status is %v", ErrInvalid, q.Status))
	}
	if q.Overdue != 0 && (q.Overdue < 0 || q.Status != StatusLapsed) {
		errs = append(errs, fmt.Errorf("%w: Query.Overdue is %v with status %v, want 0 or more with %v",
			ErrInvalid, q.Overdue, q.Status, StatusLapsed))
	}
	if q.Limit < 1 || q.Limit > MaxScan {
		errs = append(errs, fmt.Errorf("%w: Query.Limit is %d, want 1 to %d", ErrInvalid, q.Limit, MaxScan))
	}
	return errors.Join(errs...)
}

// Page is one step of a scan.
type Page struct {
	Records []Record
	Next    string // for Query.After; "" when there are no more
}

// Sweeper is a Store whose expired records take up room until they are removed.
// Nothing but room depends on it: such records count as absent anyway.
type Sweeper interface {
	// Sweep removes up to limit expired records, those of each database in the
	// order of their expiry, and returns how many it removed. Fewer than limit
	// means that there are no more for now, or that another node is sweeping. A
	// limit below 1 is ErrInvalid.
	Sweep(ctx context.Context, limit int) (int, error)
}
