package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Harness is what the suite must know about the store under test. Only New is
// required. Every case uses a random Application of its own, so cases may share
// one server and one Store.
type Harness struct {
	// New gives the Store of one case. It may return the same one every time,
	// except under FakeTime, where it is called inside the case's bubble.
	New func(t testing.TB) store.Store

	// FakeTime runs each case in a testing/synctest bubble. It is for stores
	// that keep time by the process's clock and do no I/O. Without it cases run
	// in parallel, in real time.
	FakeTime bool

	// Unit is the shortest duration that the store tells apart with certainty.
	// Default 50 ms, under FakeTime 1 s.
	Unit time.Duration

	// MaxPart is the longest part of a key, in bytes, that the store keeps as it
	// is: store.MaxPart, the default, or more.
	MaxPart int

	Hooks
}

// Hooks reach behind the store. Each is optional; the cases that need a missing
// one are skipped. s is the Store that New returned to the case.
type Hooks struct {
	// Corrupt replaces the record of k by one that the store cannot understand.
	Corrupt func(ctx context.Context, s store.Store, k store.Key) error
	// WrongType replaces the record of k by a value of a type that the store
	// never writes, such as a Redis list.
	WrongType func(ctx context.Context, s store.Store, k store.Key) error
	// Persist removes the expiry of the record of k, as PERSIST does.
	Persist func(ctx context.Context, s store.Store, k store.Key) error
	// HasExpiry reports whether there is a record of k and it has an expiry. One
	// that has expired counts until it is removed.
	HasExpiry func(ctx context.Context, s store.Store, k store.Key) (bool, error)
	// Silent gives a Store whose server takes every call and never answers.
	Silent func(t testing.TB) store.Store
}

// Case is one thing that the contract asks for.
type Case struct {
	Name     string // what the store must do
	Sentence int    // of the contract in package store that it belongs to; 0: the life of a record
	Why      string // what breaks for a consumer when a store does otherwise

	needs need
	run   func(*trial)
}

// Cases returns the whole suite.
func Cases() []Case {
	return slices.Concat(claimCases, raceCases, completeCases, releaseCases, parkCases, renewCases, fenceCases,
		batchCases, pulseCases, recordCases, expiryCases, keyCases, failureCases, historyCases,
		getCases, forgetCases, scanCases, queryCases, sweepCases)
}

// Run judges the store as one subtest per case. It returns when all have ended.
func Run(t *testing.T, h Harness) {
	t.Run("contract", func(t *testing.T) {
		for _, c := range Cases() {
			t.Run(c.Name, func(t *testing.T) {
				if !h.FakeTime {
					t.Parallel()
				}
				var skip *SkipError
				err := c.Judge(t, h)
				switch {
				case errors.As(err, &skip):
					t.Skip(skip)
				case err != nil:
					t.Errorf("%v\nwhy it matters: %s\n%s", err, c.Why, c.source())
				}
			})
		}
	})
}

// source names the part of package store's documentation that the case tests.
func (c Case) source() string {
	if c.Sentence == 0 {
		return "see the life of a record in package store"
	}
	return fmt.Sprintf("see sentence %d of the contract in package store", c.Sentence)
}

// SkipError says that a case did not run because something is missing.
type SkipError struct{ Missing string }

// Error names what is missing.
func (e *SkipError) Error() string { return "not judged: the store or its harness has no " + e.Missing }

// Judge runs the case and returns the first violation, a [*SkipError], or nil.
// It does not fail t, so that a wrong store can be judged, too.
func (c Case) Judge(t *testing.T, h Harness) error {
	if h.Unit == 0 {
		h.Unit = 50 * time.Millisecond
		if h.FakeTime {
			h.Unit = time.Second
		}
	}
	h.MaxPart = max(h.MaxPart, store.MaxPart)
	if !h.FakeTime {
		return c.judge(t, h)
	}
	var err error
	synctest.Test(t, func(t *testing.T) { err = c.judge(t, h) })
	return err
}

func (c Case) judge(t *testing.T, h Harness) error {
	s := h.New(t)
	if s == nil {
		return fmt.Errorf("Harness.New returned nil")
	}
	if missing := c.needs.missing(s, h.Hooks); missing != "" {
		return &SkipError{missing}
	}
	x, cancel := newTrial(t, h, s)
	defer cancel()
	c.run(x)
	return x.err
}
