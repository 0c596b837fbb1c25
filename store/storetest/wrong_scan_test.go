package storetest_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// querying is the change that asks for something else.
func querying(change func(*store.Query)) func(*reference) {
	return func(s *reference) {
		s.scan = func(s *reference, q store.Query) (store.Page, error) {
			change(&q)
			return scan(s, q)
		}
	}
}

// paging is the change that shows another page.
func paging(change func(q store.Query, p *store.Page)) func(*reference) {
	return func(s *reference) {
		s.scan = func(s *reference, q store.Query) (store.Page, error) {
			p, err := scan(s, q)
			change(q, &p)
			return p, err
		}
	}
}

// offset is a scan whose position is how many records it has looked at.
func offset(s *reference, q store.Query) (store.Page, error) {
	seen, err := strconv.Atoi(q.After)
	if _, bad := position(q.After); q.After != "" && (err != nil || bad == nil) {
		return store.Page{}, store.ErrInvalid
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.records)), func(name string) bool {
		return s.show(s.records[name]).Status == 0
	})
	return s.page(q, names[min(max(seen, 0), len(names)):], func(string) string {
		return strconv.Itoa(seen + q.Limit)
	}), nil
}

var wrongScans = []wrong{{
	mistake: "skips the last record of a page",
	change: paging(func(q store.Query, p *store.Page) {
		if p.Next != "" && len(p.Records) > 0 {
			p.Records = p.Records[:len(p.Records)-1]
		}
	}),
	caught: []string{
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows the first record of every page twice",
	change: paging(func(_ store.Query, p *store.Page) {
		if len(p.Records) > 0 {
			p.Records = append(p.Records, p.Records[0])
		}
	}),
	caught: []string{
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows more than it is asked to look at",
	change:  querying(func(q *store.Query) { q.Limit++ }),
	caught: []string{
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan shows every key byte for byte, and of long parts the digest",
	},
}, {
	mistake: "takes an empty page for the end",
	change: paging(func(_ store.Query, p *store.Page) {
		if len(p.Records) == 0 {
			p.Next = ""
		}
	}),
	caught: []string{
		"records that stay are shown exactly once although others come and go between pages",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "never ends a scan",
	change: paging(func(q store.Query, p *store.Page) {
		if p.Next == "" {
			p.Next = q.After
		}
	}),
	caught: []string{
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
		"an After that no page has given is refused",
	},
}, {
	mistake: "counts its position from the start",
	change:  func(s *reference) { s.scan = offset },
	caught: []string{
		"records that stay are shown exactly once although others come and go between pages",
	},
}, {
	mistake: "shows what has expired",
	change: showing(func(r *store.Record, rec *record) {
		if rec.expired() {
			*r = store.Record{Key: rec.key, Status: store.StatusConsumed}
		}
	}),
	caught: []string{
		"a scan does not show what has expired",
	},
}, {
	mistake: "takes no notice of the application",
	change:  querying(func(q *store.Query) { q.Application = "" }),
	caught: []string{
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "takes the application for a prefix",
	change: func(s *reference) {
		s.scan = func(s *reference, q store.Query) (store.Page, error) {
			application := store.Key{Application: q.Application}.Bounded().Application
			q.Application = ""
			p, err := scan(s, q)
			p.Records = slices.DeleteFunc(p.Records, func(r store.Record) bool {
				return !strings.HasPrefix(r.Key.Bounded().Application, application)
			})
			return p, err
		}
	},
	caught: []string{
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "finds no application whose name it hashes",
	change: func(s *reference) {
		s.scan = func(s *reference, q store.Query) (store.Page, error) {
			p, err := scan(s, q)
			p.Records = slices.DeleteFunc(p.Records, func(r store.Record) bool {
				return q.Application != "" && r.Key.Application != q.Application
			})
			return p, err
		}
	},
	caught: []string{
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "takes no notice of the status",
	change: querying(func(q *store.Query) {
		if q.Overdue == 0 {
			q.Status = 0
		}
	}),
	caught: []string{
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "takes no notice of overdue",
	change:  querying(func(q *store.Query) { q.Overdue = 0 }),
	caught: []string{
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "counts overdue from the start of the lease",
	change: func(s *reference) {
		s.scan = func(s *reference, q store.Query) (store.Page, error) {
			overdue := q.Overdue
			q.Overdue = 0
			p, err := scan(s, q)
			p.Records = slices.DeleteFunc(p.Records, func(r store.Record) bool { return r.Lease-r.LeaseLeft < overdue })
			return p, err
		}
	},
	caught: []string{
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "begins anew at a position that it does not know",
	change: querying(func(q *store.Query) {
		if _, err := position(q.After); err != nil {
			q.After = ""
		}
	}),
	caught: []string{
		"an After that no page has given is refused",
	},
}}
