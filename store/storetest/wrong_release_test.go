package storetest_test

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

var wrongReleases = []wrong{{
	mistake: "lets released keys wait for the end of the lease",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.owned(t) {
				return nil
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"claiming again with the same token answers the same attempt",
		"a late copy of a released claim is refused",
		"of many concurrent claims on a released key exactly one is granted",
		"completing after a release answers late and makes the key done",
		"completing a parked key answers late and makes the key done",
		"a released key is granted at once as the next attempt",
		"a release that did not run gives the attempt back",
		"a repeated release is accepted and subtracts nothing",
		"a release by an earlier owner changes nothing",
		"a lapsed claim that nobody took over can be released",
		"a claim beyond MaxAttempts parks a released key",
		"MaxAttempts counts started runs and grants the last of them",
		"no MaxAttempts means no limit",
		"a key that a claim parked is free again when its keep ends",
		"a renewal answers each claim in its place",
		"a released claim is not renewed",
		"fences rise over a release and over a take-over",
		"fences rise although the record was forgotten",
		"only the owner draws a fence",
		"the memory of a released claim ends with its horizon",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"a parked key that lost its expiry stays parked and is given one",
		"two applications never see each other's records",
		"a batch of claims answers each in its place",
		"a batch of claims counts attempts and parks beyond the limit",
		"a batch of settlements answers each in its place",
		"a batch of releases counts the attempts that ran",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows a released claim as lapsed, and since when",
		"get shows what a claim parked and until when",
		"get shows the fence that was drawn last",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"a parked key that was forgotten can run again",
		"forgetting a lapsed or released key begins its attempts anew",
		"a claim in flight is not forgotten and loses nothing",
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
	mistake: "counts a release that did not run as an attempt",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error { return release(rec, t, true) }
	},
	caught: []string{
		"a release that did not run gives the attempt back",
		"a repeated release is accepted and subtracts nothing",
		"a lapsed claim that nobody took over can be released",
		"MaxAttempts counts started runs and grants the last of them",
		"a batch of releases counts the attempts that ran",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"get shows a released claim as lapsed, and since when",
		"get changes nothing",
		"a scan shows each record as it is",
		"a scan by status shows the records in it and no others",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "does not count the attempt of a failed run",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error { return release(rec, t, false) }
	},
	caught: []string{
		"claiming again with the same token answers the same attempt",
		"completing a parked key answers late and makes the key done",
		"a released key is granted at once as the next attempt",
		"a repeated release is accepted and subtracts nothing",
		"a claim beyond MaxAttempts parks a released key",
		"a key that a claim parked is free again when its keep ends",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"a parked key that lost its expiry stays parked and is given one",
		"a batch of claims counts attempts and parks beyond the limit",
		"a batch of releases counts the attempts that ran",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"get shows a claim in flight with its owner, attempt and terms",
		"get shows a released claim as lapsed, and since when",
		"get shows what a claim parked and until when",
		"get shows the fence that was drawn last",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"a parked key that was forgotten can run again",
		"a claim in flight is not forgotten and loses nothing",
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
	mistake: "gives an attempt back for every repeat of a release",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == givenBack && rec.token == t && !ran {
				rec.attempt--
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a repeated release is accepted and subtracts nothing",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "refuses a repeated release",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == givenBack {
				return store.ErrNotOwner
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a repeated release is accepted and subtracts nothing",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "releases whoever owns the key",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == inFlight {
				t = rec.token
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a release by a token that never claimed changes nothing",
		"a release by an earlier owner changes nothing",
		"two applications never see each other's records",
		"a batch of settlements answers each in its place",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "accepts the release of a stranger without doing it",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			_ = release(rec, t, ran) // the mistake
			return nil
		}
	},
	caught: []string{
		"completing after a take-over answers late and makes the key done",
		"a stale owner's release does not undo done",
		"a release by a token that never claimed changes nothing",
		"a release by an earlier owner changes nothing",
		"a release without a record is refused and leaves the key free",
		"a parked key is not its owner's any more",
		"a record that cannot be understood is corrupt and left alone",
		"two applications never see each other's records",
		"a batch of settlements answers each in its place",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"forgetting a lapsed or released key begins its attempts anew",
	},
}, {
	mistake: "makes a record when it releases without one",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == "" {
				rec.token, rec.attempt, rec.horizon = t, 1, 1<<60
				rec.become(givenBack, 0)
				return store.ErrNotOwner
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a release without a record is refused and leaves the key free",
		"forgetting a lapsed or released key begins its attempts anew",
	},
}, {
	mistake: "takes a lapsed claim for nobody's when it releases",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.lapsed() {
				return store.ErrNotOwner
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"a lapsed claim that nobody took over can be released",
	},
}, {
	mistake: "checks the owner, then releases",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			seen := *rec
			s.yield()
			err := release(&seen, t, ran)
			*rec = seen
			return err
		}
	},
	caught: []string{
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}}
