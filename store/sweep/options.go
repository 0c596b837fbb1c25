package sweep

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The values that zero [Options] mean.
const (
	DefaultBatch   = 500
	DefaultEvery   = time.Minute
	DefaultShare   = 0.1
	DefaultTimeout = 10 * time.Second
)

// The bounds of [Options].
const (
	MaxBatch   = 10_000
	MaxEvery   = 24 * time.Hour
	MinShare   = 0.001
	MaxTimeout = time.Hour
)

// Options bound the work of a [Loop]. The zero value works.
type Options struct {
	// Batch is how many records one step removes, 1 to MaxBatch. A step locks
	// them for as long as it takes, so lower it if steps time out.
	Batch int

	// Every is the pause when nothing more has expired, 1 ms to MaxEvery. Each
	// pause is drawn from half of it to one and a half, so that the processes of
	// a fleet do not ask at the same moment.
	Every time.Duration

	// Share is how much of the time steps may take, MinShare to 1. After a step
	// that took d the loop rests for d × (1/Share − 1): a database that is slow
	// because it has much to do is swept more slowly. 1 never rests while there
	// is something to sweep.
	Share float64

	// Timeout is how long a step may take, 1 ms to MaxTimeout.
	Timeout time.Duration

	// Logger is told that sweeping fails, once until the error changes, and that
	// it works again. nil means slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Share == 0 {
		o.Share = DefaultShare
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("sweep: Options."+format+" (0 takes the default)", args...))
	}
	if o.Batch < 1 || o.Batch > MaxBatch {
		bad("Batch is %d, want 1 to %d", o.Batch, MaxBatch)
	}
	if o.Every < time.Millisecond || o.Every > MaxEvery {
		bad("Every is %v, want 1ms to %v", o.Every, MaxEvery)
	}
	if !(o.Share >= MinShare && o.Share <= 1) { // refuses NaN, too
		bad("Share is %v, want %v to 1", o.Share, MinShare)
	}
	if o.Timeout < time.Millisecond || o.Timeout > MaxTimeout {
		bad("Timeout is %v, want 1ms to %v", o.Timeout, MaxTimeout)
	}
	return errors.Join(errs...)
}
