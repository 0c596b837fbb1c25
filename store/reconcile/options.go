package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The values that a zero field of [Options] stands for.
const (
	DefaultOverdue    = 10 * time.Minute
	DefaultEvery      = time.Minute
	DefaultBatch      = 100
	DefaultPerPass    = 1000
	DefaultLease      = time.Minute
	DefaultTimeout    = 10 * time.Second
	DefaultKeep       = 24 * time.Hour
	DefaultRetryAgain = 3
)

// The bounds of [Options].
const (
	MaxEvery      = 24 * time.Hour
	MaxPerPass    = 1_000_000
	MinLease      = 10 * time.Millisecond
	MaxLease      = time.Hour
	MaxRetryAgain = 1_000_000
)

// Options tell a [Reconciler] what to look for and how much at a time. Verifier
// and Retry are required; zero fields of the rest take the Default constants.
type Options struct {
	// Verifier looks up whether the effect of a key is there. Let it be the one
	// that the consumers' dedup.Policy has.
	Verifier Verifier

	// Retry makes the operation of a key happen that has not, by publishing its
	// message again for example. It is called when the key can be claimed. An
	// error or a panic counts as a failure; the key is overdue again later.
	Retry func(ctx context.Context, k store.Key) error

	// Application restricts the reconciler to the records of one application,
	// normally a consumer group; "" is every application that uses the store.
	Application string

	// Overdue is how long a claim must have been over, 1 ms to
	// store.MaxDuration. Let it be longer than a callback goes on after its lease
	// and than the pauses of most redeliveries, and well below the horizon.
	Overdue time.Duration

	// Every is the pause between passes, 1 ms to MaxEvery. Each pause is drawn
	// from half of it to one and a half. Over Redis a pass reads the names of the
	// whole database: let it be long where there are many that are no records.
	Every time.Duration

	// Batch is how many records one page of a scan looks at, 1 to store.MaxScan;
	// PerPass is how many overdue records a pass takes, Batch to MaxPerPass. A
	// pass ends when less than a Batch is left of it, and the next goes on there.
	Batch, PerPass int

	// Lease is how long the reconciler may hold a claim, MinLease to MaxLease. It
	// is not renewed.
	Lease time.Duration

	// Timeout is how long one call of the store, of Verifier and of Retry may
	// take, 1 ms to a third of Lease.
	Timeout time.Duration

	// Keep is how long done is remembered of what has happened, store.MinDuration
	// to store.MaxDuration. Let it be that of the consumers.
	Keep time.Duration

	// RetryAgain is how often Retry may succeed for one key without an end of it,
	// 1 to MaxRetryAgain. The key is then only logged, and completed should it
	// happen yet. The count is kept in memory, for the latest 50,000 keys at
	// least: another process or a restart counts anew.
	RetryAgain int

	// Logger is told of every key that is left, as a warning the first time and
	// for debugging then, of passes that met any, and of failures until they
	// change. nil means slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	orDefault(&o.Overdue, DefaultOverdue)
	orDefault(&o.Every, DefaultEvery)
	orDefault(&o.PerPass, DefaultPerPass)
	orDefault(&o.Batch, min(DefaultBatch, o.PerPass))
	orDefault(&o.Lease, DefaultLease)
	orDefault(&o.Timeout, min(DefaultTimeout, o.Lease/3))
	orDefault(&o.Keep, DefaultKeep)
	orDefault(&o.RetryAgain, DefaultRetryAgain)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

func (o Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("reconcile: Options."+format, args...))
	}
	if o.Verifier == nil {
		bad("Verifier is nil, want a function that looks up whether the effect of a key is there")
	}
	if o.Retry == nil {
		bad("Retry is nil, want a function that publishes the message of a key again, or the like")
	}
	for _, f := range []struct {
		name           string
		got, low, high time.Duration
	}{
		{"Overdue", o.Overdue, store.MinDuration, store.MaxDuration}, {"Every", o.Every, time.Millisecond, MaxEvery},
		{"Lease", o.Lease, MinLease, MaxLease}, {"Timeout", o.Timeout, time.Millisecond, max(o.Lease, MinLease) / 3},
		{"Keep", o.Keep, store.MinDuration, store.MaxDuration},
	} {
		if f.got < f.low || f.got > f.high {
			bad("%s is %v, want %v to %v (0 takes the default)", f.name, f.got, f.low, f.high)
		}
	}
	for _, f := range []struct {
		name           string
		got, low, high int
	}{
		{"Batch", o.Batch, 1, store.MaxScan}, {"PerPass", o.PerPass, max(o.Batch, 1), MaxPerPass},
		{"RetryAgain", o.RetryAgain, 1, MaxRetryAgain},
	} {
		if f.got < f.low || f.got > f.high {
			bad("%s is %d, want %d to %d (0 takes the default)", f.name, f.got, f.low, f.high)
		}
	}
	return errors.Join(errs...)
}
