package listenertest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Fault is what goes wrong in one run of [TestCrashes].
type Fault uint8

// The faults. Each happens at one place of one run: at an effect that was marked
// with [Run.Effect], at a claim that is granted, at a complete, which records the
// success of a handler, or at the acknowledgement.
const (
	// CrashBefore ends the process before the effect or complete.
	CrashBefore Fault = iota + 1
	// CrashAfter ends the process after the effect, claim or complete.
	CrashAfter
	// PanicBefore has the handler panic before the effect; the process goes on.
	PanicBefore
	// PanicAfter has the handler panic after the effect.
	PanicAfter
	// Refused is an effect that does not happen, and returns ErrRefused; or a
	// complete that never gets through, after which a copy of the message comes.
	Refused
	// ReplyLost is an effect, claim or complete that happens and whose caller gets
	// ErrReplyLost.
	ReplyLost
	// LeaseLost has another process take the message over and finish it before the
	// effect or complete. Whoever has lost the lease does not know yet.
	LeaseLost
	// Cancelled is LeaseLost before an effect, which is tried only when the listener
	// has noticed and cancelled the handler's context.
	Cancelled
	// CopyAfter delivers the message once more after its acknowledgement, to another
	// process, as a rebalance does.
	CopyAfter
)

// What an effect returns that goes wrong.
var (
	ErrRefused   = errors.New("listenertest: refused, nothing has happened")
	ErrReplyLost = errors.New("listenertest: the reply was lost")
)

var faultNames = [...]string{
	"no fault", "crash before", "crash after", "panic before", "panic after",
	"refusal of", "lost reply of", "lost lease before", "cancellation before",
	"copy after",
}

// String is the fault in words, as they stand before the place.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Instantly is every fault but [Cancelled], which has to wait for a third of the
// lease until the listener has found out.
func Instantly() []Fault {
	return []Fault{CrashBefore, CrashAfter, PanicBefore, PanicAfter, Refused, ReplyLost, LeaseLost, CopyAfter}
}

// place is the nth time that a run comes by an effect, or by a step of its delivery.
type place struct {
	step   string // "": an effect
	effect string
	nth    int // from 1
}

// The steps of a delivery at which faults happen.
const (
	claim           = "claim" // that is granted
	complete        = "complete"
	acknowledgement = "acknowledgement"
)

// String is the place as reports name it, effects in quotes.
func (p place) String() string {
	s := p.step
	if s == "" {
		s = strconv.Quote(p.effect)
	}
	if p.nth > 1 {
		s += fmt.Sprintf(" #%d", p.nth)
	}
	return s
}

// suits reports whether f can happen at p.
func (f Fault) suits(p place) bool {
	switch p.step {
	case claim:
		return slices.Contains([]Fault{CrashAfter, ReplyLost}, f)
	case complete:
		return slices.Contains([]Fault{CrashBefore, CrashAfter, Refused, ReplyLost, LeaseLost}, f)
	case acknowledgement:
		return f == CopyAfter
	}
	return f >= CrashBefore && f <= Cancelled
}
