package storetest

import (
	"fmt"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var queryCases = []Case{{
	Name:  "a scan by status shows the records in it and no others",
	Why:   "whoever looks for what is parked would clear away what is done",
	needs: scanner,
	run: func(x *trial) {
		all := x.gallery()
		for status := store.StatusConsuming; status <= store.StatusCorrupt; status++ {
			var want []sight
			for _, s := range all {
				if s.Status == status {
					want = append(want, s)
				}
			}
			x.finds(store.Query{Application: x.app, Status: status, Limit: 2}, want...)
		}
	},
}, {
	Name:  "a scan for overdue claims shows those whose lease ended so long ago, and no others",
	Why:   "what has just been released would be settled for its owner, or what crashed hours ago be left alone",
	needs: scanner,
	run: func(x *trial) {
		all := []sight{x.lapsed(x.key("lapsed")), x.released(x.key("released"), true)}
		x.consuming(x.key("consuming"))
		x.consumed(x.key("consumed"))
		x.poison(x.key("parked"))
		x.wait(3 * x.h.Unit)
		q := store.Query{Application: x.app, Status: store.StatusLapsed, Overdue: x.h.Unit, Limit: 2}
		x.finds(q, all...)
		q.Overdue = long / 2
		x.finds(q)
	},
}, {
	Name:     "a query that is out of bounds is refused",
	Sentence: 7,
	Why:      "a mistake in a query would look like a store without records, or bring all of them at once",
	needs:    scanner,
	run: func(x *trial) {
		x.consumed(x.key("there"))
		for what, q := range map[string]store.Query{
			"no limit":                      {},
			"a negative limit":              {Limit: -1},
			"a limit beyond MaxScan":        {Limit: store.MaxScan + 1},
			"an unknown status":             {Limit: 1, Status: store.StatusCorrupt + 1},
			"a negative overdue":            {Limit: 1, Status: store.StatusLapsed, Overdue: -1},
			"overdue for every status":      {Limit: 1, Overdue: x.h.Unit},
			"overdue for what is completed": {Limit: 1, Status: store.StatusConsumed, Overdue: x.h.Unit},
		} {
			q.Application = x.app
			x.refusesQuery(what, q)
		}
	},
}, {
	Name:     "an After that no page has given is refused",
	Sentence: 7,
	Why:      "a cursor that was cut off when it was copied would begin anew, or bring down the program",
	needs:    scanner,
	run: func(x *trial) {
		x.consumed(x.key("there"))
		for _, after := range []string{
			" ", "garbage", "\x00", "\xff", "-", "::::", "'", "' OR 1=1 --", "%", "{}", "😀", "\n", "0x", "1.5", "-1 ",
			strings.Repeat("z", 100), strings.Repeat("9", 1000), strings.Repeat("\x00", 1<<20),
		} {
			x.refusesQuery(fmt.Sprintf("After %.20q", after), store.Query{Application: x.app, After: after, Limit: 1})
		}
	},
}}

func (x *trial) refusesQuery(what string, q store.Query) {
	if x.err != nil {
		return
	}
	got, err := x.store.(store.Scanner).Scan(x.ctx, q)
	x.wantError("scan with "+what, err, store.ErrInvalid)
	if len(got.Records) > 0 || got.Next != "" {
		x.failf("scan with %s: got a page beside an error, want none", what)
	}
}
