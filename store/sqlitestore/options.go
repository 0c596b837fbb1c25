package sqlitestore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Options are the settings of a [Store]. The zero Options are good.
type Options struct {
	// Table is the table of the records: a letter or _, then up to 63 letters,
	// digits and _. It and what belongs to it are created when they are not
	// there. Default "dedup_record".
	Table string

	// Synchronous tells what a record survives once a call has returned: "FULL"
	// the loss of power, "NORMAL" the end of the process, however sudden, but
	// not of the machine; it is faster on disks that are slow to write through.
	// Default "FULL".
	Synchronous string

	// BusyTimeout is how long a call waits while another process or connection
	// writes to the database. It then fails with class NotApplied. Default 5 s.
	BusyTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Table == "" {
		o.Table = "dedup_record"
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	return o
}

var tablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (o Options) validate() error {
	var errs []error
	if !tablePattern.MatchString(o.Table) || strings.HasPrefix(strings.ToLower(o.Table), "sqlite_") {
		errs = append(errs, fmt.Errorf(
			"Options.Table is %q, want a letter or _, then up to 63 letters, digits and _, and not sqlite_…", o.Table))
	}
	if o.Synchronous != "FULL" && o.Synchronous != "NORMAL" {
		errs = append(errs, fmt.Errorf("Options.Synchronous is %q, want FULL or NORMAL", o.Synchronous))
	}
	if o.BusyTimeout < time.Millisecond || o.BusyTimeout > time.Hour {
		errs = append(errs, fmt.Errorf("Options.BusyTimeout is %v, want 1ms to 1h, or 0 for 5s", o.BusyTimeout))
	}
	return errors.Join(errs...)
}
