package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongFences = []wrong{{
	mistake: "draws fences from the clock alone",
	change: func(s *reference) {
		s.fence = func(rec *record, t store.Token) (int64, error) {
			rec.fence = 0
			return fence(rec, t)
		}
	},
	caught: []string{
		"fences of one owner rise, also when it claims again",
		"fences rise over a release and over a take-over",
	},
}, {
	mistake: "forgets the fence when the owner claims again",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if rec.owned(r.Token) {
				rec.fence = 0
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"fences of one owner rise, also when it claims again",
	},
}, {
	mistake: "forgets the fence when the owner changes",
	change: func(s *reference) {
		s.claim = func(rec *record, r store.ClaimRequest) (store.Verdict, error) {
			if !rec.owned(r.Token) {
				rec.fence = 0
			}
			return claim(rec, r)
		}
	},
	caught: []string{
		"fences rise over a release and over a take-over",
	},
}, {
	mistake: "counts fences from one",
	change: func(s *reference) {
		s.fence = func(rec *record, t store.Token) (int64, error) {
			last := rec.fence
			if _, err := fence(rec, t); err != nil {
				return 0, err
			}
			rec.fence = last + 1
			return rec.fence, nil
		}
	},
	caught: []string{
		"fences rise although the record was forgotten",
	},
}, {
	mistake: "draws fences for anybody",
	change: func(s *reference) {
		s.fence = func(rec *record, t store.Token) (int64, error) {
			if rec.state == inFlight {
				t = rec.token
			}
			return fence(rec, t)
		}
	},
	caught: []string{
		"only the owner draws a fence",
	},
}, {
	mistake: "renews the lease when it draws a fence",
	change: func(s *reference) {
		s.fence = func(rec *record, t store.Token) (int64, error) {
			if rec.owned(t) {
				rec.arm()
			}
			return fence(rec, t)
		}
	},
	caught: []string{
		"drawing a fence does not move the lease",
	},
}, {
	mistake: "gives a record that lost its expiry none when it draws a fence",
	change: func(s *reference) {
		s.fence = func(rec *record, t store.Token) (int64, error) {
			lost := rec.expires.IsZero()
			n, err := fence(rec, t)
			if lost {
				rec.expires = time.Time{}
			}
			return n, err
		}
	},
	caught: []string{
		"the next step after a record lost its expiry gives it one",
	},
}}
