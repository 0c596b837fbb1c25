package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// showing is the change that spoils what people see of a record.
func showing(spoil func(*store.Record, *record)) func(*reference) {
	return func(s *reference) {
		s.show = func(rec *record) store.Record {
			r := show(rec)
			spoil(&r, rec)
			return r
		}
	}
}

var wrongGets = []wrong{{
	mistake: "shows an earlier owner's token",
	change: showing(func(r *store.Record, _ *record) {
		if r.Attempt > 1 {
			r.Token = store.NewToken()
		}
	}),
	caught: []string{
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows the fence that was drawn last",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows how many attempts failed",
	change:  showing(func(r *store.Record, _ *record) { r.Attempt-- }),
	caught: []string{
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows a claim whose lease has ended as lapsed, and since when",
		"get shows a released claim as lapsed, and since when",
		"get shows the fence that was drawn last",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows the horizon as the lease",
	change: showing(func(r *store.Record, _ *record) {
		if r.Status == store.StatusConsuming {
			r.Lease = r.Horizon
		}
	}),
	caught: []string{
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows the fence that was drawn last",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows a claim whose lease has ended as running",
	change: showing(func(r *store.Record, rec *record) {
		if rec.lapsed() {
			r.Status = store.StatusConsuming
		}
	}),
	caught: []string{
		"get shows a claim whose lease has ended as lapsed, and since when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan does not show what has expired",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows no time left, instead of how long ago a lease ended",
	change:  showing(func(r *store.Record, _ *record) { r.LeaseLeft = max(r.LeaseLeft, 0) }),
	caught: []string{
		"get shows a claim whose lease has ended as lapsed, and since when",
		"get shows a released claim as lapsed, and since when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows a released claim as running until its lease would have ended",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == givenBack {
			r.LeaseLeft += rec.lease
		}
	}),
	caught: []string{
		"get shows a released claim as lapsed, and since when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "shows no end of what is consumed",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == done {
			r.ExpiresIn = 0
		}
	}),
	caught: []string{
		"get shows a completed key as consumed and until when",
		"get changes nothing",
		"get shows every key byte for byte, and of long parts the digest",
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows the lease of a claim that is consumed",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == done {
			r.LeaseLeft = time.Until(rec.until)
		}
	}),
	caught: []string{
		"get shows a completed key as consumed and until when",
		"get changes nothing",
		"get shows every key byte for byte, and of long parts the digest",
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows what is parked as consumed",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == parked {
			r.Status = store.StatusConsumed
		}
	}),
	caught: []string{
		"get shows what a claim parked and until when",
		"get shows what its owner parked and until when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan does not show what has expired",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows as the owner of what was parked somebody else",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == parked {
			r.Token = store.NewToken()
		}
	}),
	caught: []string{
		"get shows what a claim parked and until when",
		"get shows what its owner parked and until when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows nothing of what it does not understand",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == garbage {
			*r = store.Record{}
		}
	}),
	caught: []string{
		"get shows a record that cannot be understood as corrupt",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows no fence",
	change:  showing(func(r *store.Record, _ *record) { r.Fence = 0 }),
	caught: []string{
		"get shows the fence that was drawn last",
	},
}, {
	mistake: "shows what is absent as lapsed",
	change: showing(func(r *store.Record, rec *record) {
		if rec.state == "" && !rec.expired() {
			r.Status = store.StatusLapsed
		}
	}),
	caught: []string{
		"get finds no record where there is none, or only an expired one",
	},
}, {
	mistake: "renews a claim that somebody looks at",
	change: func(s *reference) {
		s.show = func(rec *record) store.Record {
			if rec.state == inFlight && !rec.lapsed() {
				rec.arm()
			}
			return show(rec)
		}
	},
	caught: []string{
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "keeps what is done for longer when somebody looks at it",
	change: func(s *reference) {
		s.show = func(rec *record) store.Record {
			if rec.state == done && !rec.expired() {
				rec.arm()
			}
			return show(rec)
		}
	},
	caught: []string{
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a scan does not show what has expired",
	},
}, {
	mistake: "forgets a lapsed claim that somebody has seen",
	change: func(s *reference) {
		s.show = func(rec *record) store.Record {
			r := show(rec)
			if r.Status == store.StatusLapsed {
				rec.attempt = 0
			}
			return r
		}
	},
	caught: []string{
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
	},
}, {
	mistake: "shows keys as it stores them",
	change:  showing(func(r *store.Record, rec *record) { r.Key = rec.key }),
	caught: []string{
		"get shows every key byte for byte, and of long parts the digest",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "does not say that a part of a key is a digest",
	change:  showing(func(r *store.Record, _ *record) { r.Hashed = false }),
	caught: []string{
		"get shows every key byte for byte, and of long parts the digest",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}}
