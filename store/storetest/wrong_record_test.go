package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongRecords = []wrong{{
	mistake: "judges a claim by the asker's lease",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == inFlight && !rec.expires.IsZero() {
				rec.until = rec.until.Add(r.Lease - rec.lease)
				rec.lease = r.Lease
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a take-over waits for the lease to end and no longer",
		"of many concurrent claims on a lapsed key exactly one is granted",
		"completing after a take-over answers late and makes the key done",
		"a stale owner's release does not undo done",
		"a release by an earlier owner changes nothing",
		"a claim beyond MaxAttempts parks a lapsed key",
		"a park by anyone but the owner changes nothing",
		"a lapsed claim that nobody took over is renewed",
		"a claim that was taken over is not renewed",
		"fences rise over a release and over a take-over",
		"a live claim is judged by its own lease and horizon",
		"a lapsed claim is judged by its own lease and horizon",
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
		"get changes nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "judges a claim by the asker's horizon",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == inFlight && !rec.expires.IsZero() {
				rec.until = rec.expires.Add(-r.Horizon)
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a live claim is judged by its own lease and horizon",
		"a lapsed claim is judged by its own lease and horizon",
		"get changes nothing",
		"a claim in flight is not forgotten and loses nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "remembers lapsed claims for ever",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			if v.State == store.Claimed {
				rec.expires = rec.expires.Add(store.MaxDuration)
			}
			return v, err
		}
	},
	caught: []string{
		"the memory of a lapsed claim ends with its horizon",
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows a claim whose lease has ended as lapsed, and since when",
		"get shows the fence that was drawn last",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"there is nothing to forget where there is no record, or only an expired one",
		"a scan shows each record as it is",
		"a scan does not show what has expired",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "remembers released claims for their lease, too",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			err := release(rec, t, ran)
			if err == nil {
				rec.expires = rec.expires.Add(rec.lease)
			}
			return err
		}
	},
	caught: []string{
		"the memory of a released claim ends with its horizon",
		"get shows a released claim as lapsed, and since when",
		"get finds no record where there is none, or only an expired one",
		"there is nothing to forget where there is no record, or only an expired one",
		"a scan does not show what has expired",
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a scan for overdue claims shows those whose lease ended so long ago, and no others",
	},
}, {
	mistake: "takes no notice of a lost expiry",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			lost := rec.expires.IsZero() && rec.state != ""
			v, err := claim(rec, r)
			if lost && v.State != store.Claimed {
				rec.expires, v.Rearmed = time.Time{}, false
			}
			return v, err
		}
	},
	caught: []string{
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
		"a parked key that lost its expiry stays parked and is given one",
	},
}, {
	mistake: "takes a claim that lost its expiry over at once",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.expires.IsZero() && rec.state == inFlight {
				return grant(rec, r, rec.attempt+1), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
	},
}, {
	mistake: "lets done that lost its expiry run again",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.expires.IsZero() && rec.state == done {
				return grant(rec, r, 1), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a done key that lost its expiry stays done, and the next complete gives it one",
	},
}, {
	mistake: "does not say that it mended an expiry",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			v.Rearmed = false
			return v, err
		}
	},
	caught: []string{
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
		"a parked key that lost its expiry stays parked and is given one",
	},
}, {
	mistake: "runs what it does not understand",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == garbage {
				return grant(rec, r, 1), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a record that cannot be understood is corrupt and left alone",
		"get changes nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "lets a release delete what it does not understand",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == garbage {
				*rec = record{}
				return store.ErrNotOwner
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a record that cannot be understood is corrupt and left alone",
	},
}, {
	mistake: "does not complete what it does not understand",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == garbage {
				return 0, errForeign
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"completing a record that cannot be understood repairs it",
	},
}, {
	mistake: "takes a foreign type for an outage",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == list {
				return 0, &store.Error{Driver: "reference", Op: "complete", Class: store.NotApplied, Err: errForeign.Err}
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a value of a foreign type is corrupt and left alone",
	},
}, {
	mistake: "overwrites a foreign type",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == list {
				*rec = record{}
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a value of a foreign type is corrupt and left alone",
	},
}}
