package storetest_test

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

var wrongRenewals = []wrong{{
	mistake: "renews nothing",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.expires.IsZero() {
				return renew(rec, t)
			}
			if rec.owned(t) {
				return nil
			}
			return store.ErrNotOwner
		}
	},
	caught: []string{
		"a renewal starts the stored lease anew",
		"a lapsed claim that nobody took over is renewed",
	},
}, {
	mistake: "stops renewing at the first claim that is lost",
	change: func(s *reference) {
		s.renewAll = func(claims []store.Claim, renew func(store.Claim) error) []error {
			errs := make([]error, len(claims))
			for i, c := range claims {
				if i > 0 && errs[i-1] != nil {
					errs[i] = errs[i-1]
					continue
				}
				errs[i] = renew(c)
			}
			return errs
		}
	},
	caught: []string{
		"a renewal answers each claim in its place",
	},
}, {
	mistake: "does not renew a lapsed claim",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.lapsed() {
				return store.ErrNotOwner
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a lapsed claim that nobody took over is renewed",
	},
}, {
	mistake: "renews whoever owns the key",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.state == inFlight {
				t = rec.token
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a claim that was taken over is not renewed",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "renews for the owner and for whoever else asks, but says no",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.state == inFlight {
				rec.arm()
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a claim that was taken over is not renewed",
	},
}, {
	mistake: "renews what was released",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.state == givenBack && rec.token == t {
				rec.state = inFlight
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a renewal answers each claim in its place",
		"a released claim is not renewed",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "renews what is done",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.state == done && rec.token == t {
				rec.state = inFlight
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a completed claim is not renewed",
		"concurrent calls look as if they had happened one after the other",
		"concurrent calls with lost replies and repeats look as if they had happened one after the other",
	},
}, {
	mistake: "makes a record when it renews without one",
	change: func(s *reference) {
		s.renew = func(rec *record, t store.Token) error {
			if rec.state == "" {
				rec.state, rec.token, rec.attempt, rec.lease, rec.horizon = inFlight, t, 1, 1<<50, 1<<50
			}
			return renew(rec, t)
		}
	},
	caught: []string{
		"a renewal answers each claim in its place",
		"a renewal without a record is refused and leaves the key free",
	},
}}
