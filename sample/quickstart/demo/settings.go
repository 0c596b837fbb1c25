package demo

import (
	"errors"
	"flag"
	"fmt"
	"time"
)

// Settings are what a user can choose. [Settings.Flags] fills in the defaults.
type Settings struct {
	Messages   int    // distinct orders
	Resend     int    // how many messages are sent again, in percent of the orders
	Consumers  int    // at the start, 2 or more: two of them leave
	Seed       uint64 // of what is sent again
	JSON       bool   // one JSON object instead of the table
	NameServer string // host:port of a real name server; "": a RocketMQ in this process

	// Ledger is a file that also counts the runs with dedup, "" for none. A demo
	// with one sends the same keys as every other, and does not charge again what
	// one before it has charged and recorded. It has no flag here, because it is
	// of use only with records that outlive the process.
	Ledger string
}

// Flags defines a flag for each setting.
func (s *Settings) Flags(f *flag.FlagSet) {
	f.IntVar(&s.Messages, "messages", 1000, "how many orders there are")
	f.IntVar(&s.Resend, "resend", 30, "how many messages the producer sends again, in `percent` of the orders")
	f.IntVar(&s.Consumers, "consumers", 2, "how many consumers there are at the start, 2 to 20")
	f.Uint64Var(&s.Seed, "seed", 1, "of what is random: which orders are sent again")
	f.BoolVar(&s.JSON, "json", false, "write one JSON object instead of the table")
	f.StringVar(&s.NameServer, "namesrv", "", "`host:port` of a real RocketMQ name server instead of one in this\n"+
		"process; its retry delays make it take longer, and two topics of one run stay there")
}

func (s Settings) keep() time.Duration {
	if s.Ledger != "" {
		return keepLedger
	}
	return keep
}

// Validate reports every setting that is out of bounds.
func (s Settings) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Messages >= 1 && s.Messages <= 1_000_000, "-messages is %d, want 1 to 1000000", s.Messages)
	check(s.Resend >= 0 && s.Resend <= 100, "-resend is %d, want 0 to 100", s.Resend)
	check(s.Consumers >= 2 && s.Consumers <= 20, "-consumers is %d, want 2 to 20", s.Consumers)
	check(s.Ledger == "" || s.NameServer == "",
		"-ledger and -namesrv do not go together: a real topic keeps the messages\n"+
			"of the demo that was killed")
	return errors.Join(errs...)
}
