package mysqlstore

import (
	"context"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Table is the quoted name of the table.
func (s *Store) Table() string { return s.table() }

// Where is a condition that only the record of k meets.
func (s *Store) Where(k store.Key) string {
	var c call
	s.call(&c, 0, k, store.Token{})
	return string(s.appendKey(nil, &c))
}

// What the tests of classify need.
var (
	Classify    = classify
	ErrVanished = errVanished
)

// NoConnection marks the error of getting a connection.
func NoConnection(err error) error { return noConnection{err} }

// NotSent and Applied are how the store marks errors.
func NotSent(err error) error { return notSent{err} }

// Applied is NotSent's counterpart, after a statement.
func Applied(err error) error { return applied{err} }

// KnownReplies are the numbers of the errors that the store knows.
func KnownReplies() (numbers []uint16) {
	for n := range replies {
		numbers = append(numbers, n)
	}
	return numbers
}

// KnownFailures are the names of the rows of failures.
func KnownFailures() (names []string) {
	for _, f := range failures {
		names = append(names, f.what)
	}
	return names
}

// Batches is how many batches are on their way at a time, Overdue how long one
// of them counts.
const (
	Batches = batches
	Overdue = overdue
)

// NewGate returns the way into a gate for batches.
func NewGate() func(context.Context) (leave func(), err error) { return make(gate, batches).enter }
