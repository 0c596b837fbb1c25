package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is the outcome of both plays.
type Report struct {
	Without Result `json:"without"`
	With    Result `json:"with"`
}

// Result is the outcome of one play.
type Result struct {
	Sent     int     `json:"sent"`     // messages
	Distinct int     `json:"distinct"` // orders
	Ran      int     `json:"ran"`      // callbacks that charged an order
	Extra    int     `json:"extra"`    // of those, charges of an order that was charged before
	Skipped  int     `json:"skipped"`  // deliveries that dedup acknowledged without a callback
	Deferred int     `json:"deferred"` // deliveries that dedup sent back for later
	Lost     int     `json:"lost"`     // orders that were never charged
	Seconds  float64 `json:"seconds"`

	unfinished int // messages that nobody acknowledged in time
}

// verdict judges the play with dedup: without it anything may happen.
func (r Report) verdict() error {
	if w := r.With; w.Extra != 0 || w.Lost != 0 || w.unfinished != 0 {
		return fmt.Errorf("%w: extra=%d lost=%d unfinished=%d", ErrWrong, w.Extra, w.Lost, w.unfinished)
	}
	return nil
}

func (r Report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tsent\tdistinct\tran\textra\tskipped\tdeferred\tlost\tseconds\t")
	r.Without.row(table, "without dedup")
	r.With.row(table, "with dedup")
	return table.Flush()
}

// row needs no error: the table's Flush tells it.
func (r Result) row(table io.Writer, name string) {
	fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", name,
		r.Sent, r.Distinct, r.Ran, r.Extra, r.Skipped, r.Deferred, r.Lost, r.Seconds)
}
