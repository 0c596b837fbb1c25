package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongParks = []wrong{{
	mistake: "never parks at the limit",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			r.MaxAttempts = 0
			return claim(rec, r)
		}
	},
	caught: []string{
		"completing a parked key answers late and makes the key done",
		"a claim beyond MaxAttempts parks a released key",
		"a claim beyond MaxAttempts parks a lapsed key",
		"a key that a claim parked is free again when its keep ends",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"a parked key that lost its expiry stays parked and is given one",
		"a batch of claims counts attempts and parks beyond the limit",
		"get shows what a claim parked and until when",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"a parked key that was forgotten can run again",
		"there is nothing to forget where there is no record, or only an expired one",
		"a scan shows each record as it is",
		"a scan does not show what has expired",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
		"a sweep removes what has expired",
		"a sweep leaves alone what has not expired",
		"a sweep removes no more than its limit and counts what it removed",
	},
}, {
	mistake: "parks only what was released",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.lapsed() {
				r.MaxAttempts = 0
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a claim beyond MaxAttempts parks a lapsed key",
	},
}, {
	mistake: "parks one attempt early",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			r.MaxAttempts = max(r.MaxAttempts-1, min(r.MaxAttempts, 1))
			return claim(rec, r)
		}
	},
	caught: []string{
		"MaxAttempts counts started runs and grants the last of them",
		"a batch of claims counts attempts and parks beyond the limit",
	},
}, {
	mistake: "has a limit that nobody asked for",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if r.MaxAttempts == 0 {
				r.MaxAttempts, r.ParkKeep = 4, time.Hour
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"no MaxAttempts means no limit",
		"concurrent calls look as if they had happened one after the other",
	},
}, {
	mistake: "applies the limit to a repeated claim",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.owned(r.Token) && r.MaxAttempts > 0 && rec.attempt >= r.MaxAttempts {
				rec.become(parked, r.ParkKeep)
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"repeating the last permitted claim does not park it",
	},
}, {
	mistake: "parks at the limit for ever",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			r.ParkKeep = store.MaxDuration
			return claim(rec, r)
		}
	},
	caught: []string{
		"a key that a claim parked is free again when its keep ends",
		"get shows what a claim parked and until when",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"there is nothing to forget where there is no record, or only an expired one",
		"a scan shows each record as it is",
		"a scan does not show what has expired",
		"a scan by status shows the records in it and no others",
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
	},
}, {
	mistake: "lets copies move the end of parked",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			if v.State == store.Parked {
				rec.arm()
			}
			return v, err
		}
	},
	caught: []string{
		"a key that a claim parked is free again when its keep ends",
		"a key that its owner parked is free again when its keep ends",
	},
}, {
	mistake: "lets the owner of a parked key claim it",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == parked && rec.token == r.Token {
				return grant(rec, r, rec.attempt), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"the owner parks its key for every token",
	},
}, {
	mistake: "refuses a repeated park",
	change: func(s *reference) {
		s.park = func(rec *record, t store.Token, keep time.Duration) error {
			if rec.state == parked {
				return store.ErrNotOwner
			}
			return park(rec, t, keep)
		}
	},
	caught: []string{
		"a repeated park is accepted",
	},
}, {
	mistake: "parks for ever when the owner parks",
	change: func(s *reference) {
		s.park = func(rec *record, t store.Token, keep time.Duration) error {
			return park(rec, t, store.MaxDuration)
		}
	},
	caught: []string{
		"a key that its owner parked is free again when its keep ends",
		"get shows what its owner parked and until when",
	},
}, {
	mistake: "parks for anybody",
	change: func(s *reference) {
		s.park = func(rec *record, t store.Token, keep time.Duration) error {
			if rec.state == inFlight {
				t = rec.token
			}
			return park(rec, t, keep)
		}
	},
	caught: []string{
		"a park by anyone but the owner changes nothing",
	},
}, {
	mistake: "parks what is done",
	change: func(s *reference) {
		s.park = func(rec *record, t store.Token, keep time.Duration) error {
			if rec.state == done {
				rec.become(parked, keep)
				return store.ErrNotOwner
			}
			return park(rec, t, keep)
		}
	},
	caught: []string{
		"a park by anyone but the owner changes nothing",
	},
}, {
	mistake: "releases parked keys to their owner",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == parked && rec.token == t {
				rec.state = inFlight
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a parked key is not its owner's any more",
	},
}}
