package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongCompletes = []wrong{{
	mistake: "lets the owner of a done key claim it again",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == done && rec.token == r.Token {
				return grant(rec, r, rec.attempt), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a completed key is done for every token",
	},
}, {
	mistake: "keeps done for ever",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			found, err := complete(rec, t, keep)
			rec.expires = time.Time{}
			return found, err
		}
	},
	caught: []string{
		"done ends with its keep",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"a done key that lost its expiry stays done, and the next complete gives it one",
		"a batch remembers each completion for its own keep",
		"get shows a completed key as consumed and until when",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"get shows every key byte for byte, and of long parts the digest",
		"there is nothing to forget where there is no record, or only an expired one",
		"the pages of a scan show every record exactly once",
		"a scan shows each record as it is",
		"records that stay are shown exactly once although others come and go between pages",
		"a scan does not show what has expired",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
		"a scan by status shows the records in it and no others",
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"of many concurrent claims beside sweeps exactly one is granted",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "lets copies move the end of done",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == done {
				rec.arm()
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"copies do not move the end of done",
	},
}, {
	mistake: "keeps done for the last keep it was given",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			rec.keep = 0
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a shorter second complete does not shorten done",
	},
}, {
	mistake: "keeps done for the first keep it was given",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			before := *rec
			found, err := complete(rec, t, keep)
			if before.state == done && !before.expires.IsZero() {
				rec.expires = before.expires
			}
			return found, err
		}
	},
	caught: []string{
		"a longer second complete prolongs done",
	},
}, {
	mistake: "does not know its own completion again",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == done {
				rec.token = store.Token{}
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a shorter second complete does not shorten done",
		"a repeated complete answers completed",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "takes every completion for its own",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == done {
				rec.token = t
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a shorter second complete does not shorten done",
		"completing what somebody else completed answers already done",
		"a done key that lost its expiry stays done, and the next complete gives it one",
		"a batch of settlements answers each in its place",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "lets only the owner complete",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if mine := rec.token == t && rec.state != givenBack; !mine && rec.state != garbage && rec.state != list {
				return 0, store.ErrNotOwner
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a shorter second complete does not shorten done",
		"a longer second complete prolongs done",
		"completing what somebody else completed answers already done",
		"completing after a take-over answers late and makes the key done",
		"completing after a release answers late and makes the key done",
		"completing a parked key answers late and makes the key done",
		"completing without a record answers recreated and makes the key done",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"a done key that lost its expiry stays done, and the next complete gives it one",
		"a batch of settlements answers each in its place",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "does not complete a key that was released",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == givenBack {
				return store.Late, nil
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"completing after a release answers late and makes the key done",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "does not complete a key without a record",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == "" {
				return store.Recreated, nil
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"completing without a record answers recreated and makes the key done",
		"a batch of settlements answers each in its place",
	},
}, {
	mistake: "leaves a parked key parked when it completes",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.state == parked {
				return store.Late, nil
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"completing a parked key answers late and makes the key done",
	},
}, {
	mistake: "takes a lapsed claim for nobody's when it completes",
	change: func(s *reference) {
		s.complete = func(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
			if rec.lapsed() {
				rec.token = store.Token{}
			}
			return complete(rec, t, keep)
		}
	},
	caught: []string{
		"a lapsed claim that nobody took over completes as its owner's",
	},
}, {
	mistake: "lets a stale owner's release delete what is done",
	change: func(s *reference) {
		s.release = func(rec *record, t store.Token, ran bool) error {
			if rec.state == done {
				*rec = record{}
				return store.ErrNotOwner
			}
			return release(rec, t, ran)
		}
	},
	caught: []string{
		"completing after a take-over answers late and makes the key done",
		"a stale owner's release does not undo done",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}}
