package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Fault is what happens to one call of a flaky store.
type Fault uint8

// The faults.
const (
	None      Fault = iota // the call passes
	CutBefore              // it never reaches the store: an error of class NotApplied
	CutAfter               // it is applied, but its reply is lost: an error of class Unknown
	Slow                   // it reaches the store late, or never when its context ends first
)

// Op is a method of a store, spelled as in [store.Error].
type Op string

// The methods that can be disturbed.
const (
	Claim       Op = "claim"
	Complete    Op = "complete"
	Release     Op = "release"
	Renew       Op = "renew"
	Park        Op = "park"
	Fence       Op = "fence"
	ClaimBatch  Op = "claim batch"
	SettleBatch Op = "settle batch"
)

// The causes inside the errors of a flaky store.
var (
	ErrCutBefore = errors.New("the call was cut off before it was sent")
	ErrCutAfter  = errors.New("the reply was lost")
)

// Faults decides what happens to the calls of a flaky store: what Next scripted
// for the method, otherwise chance. The zero value lets everything pass. The
// methods are safe for concurrent use; set the fields before the first call.
type Faults struct {
	Seed                   uint64        // makes chance repeatable
	Before, After, Lagging float64       // the chance of CutBefore, CutAfter and Slow, for each call
	Delay                  time.Duration // how long a scripted Slow lasts; one by chance lasts a random part of it

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	script map[Op][]Fault
	calls  map[Op]int
}

// Next scripts the next calls of op, in order, after those scripted before.
func (f *Faults) Next(op Op, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.script == nil {
		f.script = make(map[Op][]Fault)
	}
	f.script[op] = append(f.script[op], faults...)
}

// Calls is how often op was called, the disturbed calls included.
func (f *Faults) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// pick chooses the fault of one call of op and, for Slow, how long it lasts.
func (f *Faults) pick(op Op) (Fault, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[Op]int)
		f.random = rand.New(rand.NewPCG(f.Seed, 0))
	}
	f.calls[op]++
	if script := f.script[op]; len(script) > 0 {
		f.script[op] = script[1:]
		return script[0], f.Delay
	}
	switch p := f.random.Float64(); {
	case p < f.Before:
		return CutBefore, 0
	case p < f.Before+f.After:
		return CutAfter, 0
	case p < f.Before+f.After+f.Lagging:
		return Slow, time.Duration(f.random.Float64() * float64(f.Delay))
	}
	return None, 0
}

// call lets do pass, or not, and returns the fault as an error.
func (f *Faults) call(ctx context.Context, op Op, do func()) error {
	fault, delay := f.pick(op)
	switch fault {
	case CutBefore:
		return flakyError(op, store.NotApplied, ErrCutBefore)
	case CutAfter:
		do()
		return flakyError(op, store.Unknown, ErrCutAfter)
	case Slow:
		late := time.NewTimer(delay)
		defer late.Stop()
		select {
		case <-ctx.Done():
			return flakyError(op, store.NotApplied, context.Cause(ctx))
		case <-late.C:
		}
	}
	do()
	return nil
}

func flakyError(op Op, c store.Class, err error) error {
	return &store.Error{Driver: "flaky", Op: string(op), Class: c, Err: err}
}
