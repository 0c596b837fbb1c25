package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var scanCases = []Case{{
	Name:  "the pages of a scan show every record exactly once",
	Why:   "whoever counts, or clears up, what a scan shows would miss records or do it twice",
	needs: scanner,
	run: func(x *trial) {
		var all []sight
		for i := range raceKeys {
			all = append(all, x.consumed(x.numbered(i)))
		}
		for _, limit := range []int{1, 2, 7, len(all), store.MaxScan} {
			x.finds(store.Query{Application: x.app, Limit: limit}, all...)
		}
	},
}, {
	Name:  "a scan shows each record as it is",
	Why:   "a crash would look like work in progress, and work in progress like a crash",
	needs: scanner,
	run: func(x *trial) {
		all := x.gallery()
		x.finds(store.Query{Application: x.app, Limit: 3}, all...)
		for _, want := range all {
			x.judges(want)
		}
	},
}, {
	Name:  "records that stay are shown exactly once although others come and go between pages",
	Why:   "a store is busy while it is looked at; a page that counts from the start would skip and repeat",
	needs: scanner,
	run: func(x *trial) {
		var all []sight
		for i := range raceKeys {
			all = append(all, x.consumed(x.key(fmt.Sprintf("m%02d", i))))
		}
		x.findsAmong(store.Query{Application: x.app, Limit: 2}, func(page int) {
			if page < raceKeys {
				x.consumed(x.key(fmt.Sprintf("a%02d", page)))
			}
		}, all)
		for i := range raceKeys {
			k, a := x.key(fmt.Sprintf("going %02d", i)), store.NewToken()
			x.claimed(x.request(k, a))
			x.complete(k, a, x.h.Unit, store.Completed)
		}
		x.findsAmong(store.Query{Application: x.app, Limit: 2}, func(page int) {
			if page == 0 {
				x.wait(2 * x.h.Unit)
			}
		}, all)
	},
}, {
	Name:  "a scan does not show what has expired",
	Why:   "what counts as absent would be counted as work that is stuck",
	needs: scanner,
	run: func(x *trial) {
		want := x.consumed(x.key("still there"))
		again := x.expired()[0]
		x.finds(store.Query{Application: x.app, Limit: 2}, want)
		x.finds(store.Query{Application: x.app, Limit: 2}, want, x.consumed(again))
	},
}, {
	Name:     "a scan shows every key byte for byte, and of long parts the digest",
	Sentence: 8,
	Why:      "a key that is shown garbled can be neither found in the business data nor given to another call",
	needs:    scanner,
	run: func(x *trial) {
		var all []sight
		for _, k := range x.hostileKeys() {
			want := x.consumed(k)
			want.Key, want.Hashed = x.shown(k)
			all = append(all, want)
		}
		x.finds(store.Query{Application: x.app, Limit: 10}, all...)
	},
}, {
	Name:     "a scan of one application shows no other's records, and one of all shows all",
	Sentence: 10,
	Why:      "somebody would clear away what belongs to another consumer group",
	needs:    scanner,
	run: func(x *trial) {
		var all []sight
		for _, application := range []string{
			x.app, x.app + "2", x.app + "%", x.app + "_", x.app + "*", x.app + ":", x.app + " ", x.app + "\x00",
			strings.ToUpper(x.app), "~" + x.app, x.app + strings.Repeat("x", store.MaxPart),
		} {
			k := x.key("shared")
			k.Application = application
			s := x.consumed(k)
			s.Key, s.Hashed = x.shown(k)
			x.finds(store.Query{Application: application, Limit: 5}, s)
			all = append(all, s)
		}
		x.finds(store.Query{Application: x.app + "nobody", Limit: 5})
		x.finds(store.Query{Application: x.app[:len(x.app)-1], Limit: 5})
		x.findsAmong(store.Query{Limit: store.MaxScan}, nil, all)
	},
}}

// A scan with a small Limit visits all records of a server that others fill,
// too: after so many pages the Limit grows, as a query's may. A scan has more
// than mostPages pages only if it has no end.
const (
	smallPages = 100
	mostPages  = 2000
)

// finds scans and wants these records, each once, and no others.
func (x *trial) finds(q store.Query, want ...sight) {
	if got := x.findsAmong(q, nil, want); x.err == nil && got != len(want) {
		x.failf("scan for %+v: got %d records, want %d", q, got, len(want))
	}
}

// findsAmong scans, calls between after each page but the last, and wants these
// records among the others, each once. It returns how many it got in all.
func (x *trial) findsAmong(q store.Query, between func(page int), want []sight) int {
	sent := time.Now()
	got := x.scan(q, between)
	times, records := make(map[store.Key]int), make(map[store.Key]store.Record)
	for _, r := range got {
		times[r.Key]++
		records[r.Key] = r
	}
	for _, s := range want {
		switch n := times[s.Key]; {
		case x.err != nil:
		case n != 1:
			x.failf("scan for %+v: the record of key %.100q was shown %d times, want once", q, s.Key, n)
		default:
			x.like("scan", records[s.Key], s, sent)
		}
	}
	return len(got)
}

func (x *trial) scan(q store.Query, between func(page int)) []store.Record {
	var all []store.Record
	for page := range mostPages {
		if x.err != nil {
			return nil
		}
		p, err := x.store.(store.Scanner).Scan(x.ctx, q)
		if x.failed("scan", err) {
			return nil
		}
		if len(p.Records) > q.Limit {
			x.failf("scan: got a page of %d records with a limit of %d", len(p.Records), q.Limit)
		}
		if all = append(all, p.Records...); p.Next == "" {
			return all
		}
		if q.After = p.Next; page >= smallPages {
			q.Limit = min(2*q.Limit, store.MaxScan)
		}
		if between != nil {
			between(page)
		}
	}
	x.failf("scan: no end after %d pages", mostPages)
	return nil
}
