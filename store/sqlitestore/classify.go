package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The primary result codes of SQLite that a call may meet.
const (
	codeBusy   = 5
	codeLocked = 6
	codeFull   = 13
	codeIO     = 10
)

// classes are those of the primary result codes. SQLite undoes a transaction
// that ends in any of them. What is missing means that the statement, the table
// or the file is not what it must be, which only somebody can change.
var classes = map[int]store.Class{
	codeBusy:   store.NotApplied,
	codeLocked: store.NotApplied,
	codeFull:   store.NotApplied, // the disk, or PRAGMA max_page_count
	codeIO:     store.NotApplied,
	4:          store.NotApplied, // ABORT: another statement of the connection rolled back
	7:          store.NotApplied, // NOMEM
	9:          store.NotApplied, // INTERRUPT
	15:         store.NotApplied, // PROTOCOL: too many processes at once recovered the log
}

// resultCode is the primary result code of SQLite in err, or 0.
func resultCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff // the rest tells more about the same
	}
	return 0
}

// isBusy reports whether another connection has the lock.
func isBusy(err error) bool {
	code := resultCode(err)
	return code == codeBusy || code == codeLocked
}

// classify tells what a call did that failed before its commit.
func classify(err error) store.Class {
	code := resultCode(err)
	if class, ok := classes[code]; ok {
		return class
	}
	if code == 0 { // not SQLite's: a context, or database/sql
		return store.NotApplied
	}
	return store.Permanent
}

// classifyCommit tells what a call did whose commit failed. A log whose last
// write failed may be found complete after a restart.
func classifyCommit(err error) store.Class {
	switch code := resultCode(err); code {
	case codeIO, 0:
		return store.Unknown
	default:
		return classify(err)
	}
}

func failed(op string, class store.Class, err error) error {
	return &store.Error{Driver: "sqlitestore", Op: op, Class: class, Err: err}
}

// remedies are for what keeps a store from starting, by the primary result code.
var remedies = map[int]string{
	8:  "the file and its folder must be writable",
	11: "bring the file back from a copy, or give another path",
	14: "the folder must exist and be writable, and the path must be that of a file",
	26: "give another path",
}

// startFailed is the error of a store that could not start. What is neither
// SQLite's nor the end of the context is the table, or the database.
func startFailed(op string, err error) error {
	class, code := classify(err), resultCode(err)
	if code == 0 && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		class = store.Permanent
	}
	if remedy := remedies[code]; remedy != "" {
		err = fmt.Errorf("%w; %s", err, remedy)
	}
	return failed(op, class, err)
}
