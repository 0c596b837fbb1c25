package mysqlstore

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Options are the settings of a [Store]. The zero Options are good.
type Options struct {
	// Table is the table that holds the records, 1 to 64 of letters, digits and
	// _, not digits only. Default "dedup_record", with NewJavaCompatible
	// "t_rocketmq_dedup". Stores with different tables never meet.
	Table string

	// Retries is how often a call is repeated that failed in a way worth
	// repeating, such as a connection that broke. Default 3; -1 for never.
	Retries int

	// Skew is how far the clocks of consumers in Java, which the original
	// trusts, may be from the server's. Our claims stay that much longer in the
	// table, and theirs are taken over that much later. It is for
	// NewJavaCompatible only. Default 10 s.
	Skew time.Duration
}

const (
	defaultRetries = 3
	defaultSkew    = 10 * time.Second
	maxSkew        = time.Hour
)

var tablePattern = regexp.MustCompile(`^[A-Za-z0-9_]{0,63}[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (o Options) withDefaults(table string) Options {
	if o.Table == "" {
		o.Table = table
	}
	switch o.Retries {
	case 0:
		o.Retries = defaultRetries
	case -1:
		o.Retries = 0
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if len(o.Table) > 64 || !tablePattern.MatchString(o.Table) {
		errs = append(errs, fmt.Errorf(
			"Options.Table is %q, want 1 to 64 of letters, digits and _, not digits only", o.Table))
	}
	if o.Retries < 0 || o.Retries > 100 {
		errs = append(errs, fmt.Errorf("Options.Retries is %d, want -1 (never) to 100, or 0 for %d",
			o.Retries, defaultRetries))
	}
	if o.Skew < 0 || o.Skew > maxSkew {
		errs = append(errs, fmt.Errorf("Options.Skew is %v, want up to %v, or 0 for %v", o.Skew, maxSkew, defaultSkew))
	}
	return errors.Join(errs...)
}
