package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongClaims = []wrong{{
	mistake: "counts attempts from zero",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			v.Attempt = max(v.Attempt-1, 0)
			return v, err
		}
	},
	caught: []string{
		"a free key is claimed as attempt one",
		"a take-over counts the attempt",
		"claiming again with the same token answers the same attempt",
		"claiming again with the same token arms the lease that the repeat asks for",
		"done ends with its keep",
		"a released key is granted at once as the next attempt",
		"a release that did not run gives the attempt back",
		"a repeated release is accepted and subtracts nothing",
		"a release without a record is refused and leaves the key free",
		"a lapsed claim that nobody took over can be released",
		"a renewal without a record is refused and leaves the key free",
		"a lapsed claim is judged by its own lease and horizon",
		"the memory of a lapsed claim ends with its horizon",
		"the memory of a released claim ends with its horizon",
		"an invalid claim is refused and leaves no record",
		"a batch of claims counts attempts and parks beyond the limit",
		"a batch of releases counts the attempts that ran",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"get finds no record where there is none, or only an expired one",
		"get changes nothing",
		"a consumed key that was forgotten can run again",
		"a parked key that was forgotten can run again",
		"forgetting a lapsed or released key begins its attempts anew",
		"forget removes a record that cannot be understood",
		"a claim in flight is not forgotten and loses nothing",
		"a scan shows each record as it is",
		"a sweep removes what has expired",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "grants live claims to anybody",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			rec.until = time.Now()
			return claim(rec, r)
		}
	},
	caught: []string{
		"a live claim refuses every other token",
		"busy tells the remaining lease by the store's own clock",
		"a take-over waits for the lease to end and no longer",
		"claiming again with the same token arms the lease that the repeat asks for",
		"of many concurrent claims on a free key exactly one is granted",
		"of many concurrent claims on a lapsed key exactly one is granted",
		"of many concurrent claims on a released key exactly one is granted",
		"a release by a token that never claimed changes nothing",
		"a release by an earlier owner changes nothing",
		"a park by anyone but the owner changes nothing",
		"a renewal starts the stored lease anew",
		"a lapsed claim that nobody took over is renewed",
		"a claim that was taken over is not renewed",
		"drawing a fence does not move the lease",
		"a live claim is judged by its own lease and horizon",
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
		"every part of the key counts",
		"separators inside a part do not move the border between parts",
		"case, accents and blanks count",
		"any bytes make a key",
		"long parts that differ only at their end stay apart",
		"a short part does not pass for the digest of a long one",
		"two applications never see each other's records",
		"an invalid complete, release, park, renewal or fence is refused and touches no record",
		"a batch of claims answers each in its place",
		"of two claims on one key in a batch the second is busy",
		"of many concurrent batches exactly one is granted each key",
		"a batch of settlements answers each in its place",
		"an invalid settlement is refused alone among its batch",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"get changes nothing",
		"a claim in flight is not forgotten and loses nothing",
		"of many concurrent claims beside a forget exactly one is granted",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
		"of many concurrent claims beside sweeps exactly one is granted",
	},
}, {
	mistake: "tells the whole lease instead of what is left of it",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			if v.State == store.Busy {
				v.Left = rec.lease
			}
			return v, err
		}
	},
	caught: []string{
		"busy tells the remaining lease by the store's own clock",
		"a claim that was taken over is not renewed",
		"drawing a fence does not move the lease",
		"get changes nothing",
		"a claim in flight is not forgotten and loses nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "ends leases half way",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == inFlight && time.Until(rec.until) < rec.lease/2 {
				rec.until = time.Now()
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a take-over waits for the lease to end and no longer",
		"a lapsed claim that nobody took over is renewed",
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
	},
}, {
	mistake: "never ends a lease",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.lapsed() && !rec.owned(r.Token) {
				return verdict(store.Busy)
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a take-over waits for the lease to end and no longer",
		"a take-over counts the attempt",
		"of many concurrent claims on a lapsed key exactly one is granted",
		"completing after a take-over answers late and makes the key done",
		"a stale owner's release does not undo done",
		"a release by an earlier owner changes nothing",
		"a claim beyond MaxAttempts parks a lapsed key",
		"a park by anyone but the owner changes nothing",
		"a lapsed claim that nobody took over is renewed",
		"a claim that was taken over is not renewed",
		"fences rise over a release and over a take-over",
		"a lapsed claim is judged by its own lease and horizon",
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
		"get changes nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "lets copies move the end of a lease",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			v, err := claim(rec, r)
			if v.State == store.Busy {
				rec.arm()
			}
			return v, err
		}
	},
	caught: []string{
		"a take-over waits for the lease to end and no longer",
		"completing after a take-over answers late and makes the key done",
		"a stale owner's release does not undo done",
		"a release by an earlier owner changes nothing",
		"a claim beyond MaxAttempts parks a lapsed key",
		"a park by anyone but the owner changes nothing",
		"a lapsed claim that nobody took over is renewed",
		"a claim that was taken over is not renewed",
		"fences rise over a release and over a take-over",
		"a claim in flight that lost its expiry is busy for its lease and then lapses",
	},
}, {
	mistake: "forgets the attempt when a lease ends",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.lapsed() && !rec.owned(r.Token) {
				*rec = record{fence: rec.fence}
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a take-over counts the attempt",
		"a claim beyond MaxAttempts parks a lapsed key",
		"a lapsed claim is judged by its own lease and horizon",
		"get changes nothing",
		"a scan shows each record as it is",
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "refuses its own token",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.owned(r.Token) {
				return verdict(store.Busy)
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"claiming again with the same token answers the same attempt",
		"claiming again with the same token arms the lease that the repeat asks for",
		"repeating the last permitted claim does not park it",
		"fences of one owner rise, also when it claims again",
		"every step leaves a record with an expiry",
		"the next step after a record lost its expiry gives it one",
		"an invalid complete, release, park, renewal or fence is refused and touches no record",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"a claim in flight is not forgotten and loses nothing",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "counts a repeated claim as an attempt",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.owned(r.Token) {
				return grant(rec, r, rec.attempt+1), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"claiming again with the same token answers the same attempt",
		"claiming again with the same token arms the lease that the repeat asks for",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"a claim in flight is not forgotten and loses nothing",
	},
}, {
	mistake: "answers a repeated claim without arming the lease",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.owned(r.Token) && !rec.expires.IsZero() {
				return store.Verdict{State: store.Claimed, Attempt: rec.attempt}, nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"claiming again with the same token arms the lease that the repeat asks for",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "grants a late copy of a released claim",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.state == givenBack && rec.token == r.Token {
				return grant(rec, r, rec.attempt+1), nil
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"a late copy of a released claim is refused",
		"a batch of claims answers each in its place",
	},
}, {
	mistake: "checks that a key is free, then writes",
	change: func(s *reference) {
		s.claim = s.readThenWrite(func(rec record) bool { return rec.state == "" })
	},
	caught: []string{
		"of many concurrent claims on a free key exactly one is granted",
		"of many concurrent batches exactly one is granted each key",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
		"of many concurrent claims beside a forget exactly one is granted",
		"of many concurrent claims beside sweeps exactly one is granted",
	},
}, {
	mistake: "checks that a claim has lapsed, then writes",
	change: func(s *reference) {
		s.claim = s.readThenWrite(func(rec record) bool { return rec.lapsed() })
	},
	caught: []string{
		"of many concurrent claims on a lapsed key exactly one is granted",
	},
}, {
	mistake: "checks that a claim was released, then writes",
	change: func(s *reference) {
		s.claim = s.readThenWrite(func(rec record) bool { return rec.state == givenBack })
	},
	caught: []string{
		"of many concurrent claims on a released key exactly one is granted",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}}

// readThenWrite claims in two steps when the first one reads such a record: the
// second acts on what the first one saw.
func (s *reference) readThenWrite(when func(record) bool) func(*record, store.ClaimRequest) (store.Verdict, error) {
	return func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
		if seen := *rec; when(seen) {
			s.yield()
			*rec = seen
		}
		return claim(rec, r)
	}
}
