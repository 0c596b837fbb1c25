package storetest_test

import (
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The two functions that a batch hands its parts to.
type (
	claimOne  = func(store.ClaimRequest) store.ClaimAnswer
	settleOne = func(store.Settlement) store.SettleAnswer
)

var wrongBatches = []wrong{{
	mistake: "answers a batch of claims in the wrong order",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			answers := each(requests, claim)
			slices.Reverse(answers)
			return answers
		}
	},
	caught: []string{
		"a batch of claims answers each in its place",
		"of two claims on one key in a batch the second is busy",
		"a batch of claims counts attempts and parks beyond the limit",
	},
}, {
	mistake: "leaves out of a batch of claims what it refuses",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			answers := each(requests, claim)
			return slices.DeleteFunc(answers, func(a store.ClaimAnswer) bool { return a.Err != nil })
		}
	},
	caught: []string{
		"a batch of claims answers each in its place",
		"an invalid claim is refused alone among its batch",
		"a call whose context has ended is an error and no verdict",
		"a call returns within its deadline when the server is silent",
	},
}, {
	mistake: "fails a whole batch of claims for one that is invalid",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			for _, r := range requests {
				if err := r.Validate(); err != nil {
					return each(requests, func(store.ClaimRequest) store.ClaimAnswer { return store.ClaimAnswer{Err: err} })
				}
			}
			return each(requests, claim)
		}
	},
	caught: []string{
		"an invalid claim is refused alone among its batch",
	},
}, {
	mistake: "takes the claims on one key in a batch for one claim",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			first := make(map[store.Key]store.ClaimAnswer)
			return each(requests, func(r store.ClaimRequest) store.ClaimAnswer {
				if _, again := first[r.Key]; !again {
					first[r.Key] = claim(r)
				}
				return first[r.Key]
			})
		}
	},
	caught: []string{
		"of two claims on one key in a batch the second is busy",
	},
}, {
	mistake: "reads all keys of a batch, then writes",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			free := make(map[store.Key]bool)
			s.mu.Lock()
			for _, r := range requests {
				rec := s.records[s.name(r.Key)]
				free[r.Key] = rec == nil || rec.state == ""
			}
			s.yield()
			s.mu.Unlock()
			return each(requests, func(r store.ClaimRequest) store.ClaimAnswer {
				a := claim(r)
				if free[r.Key] && a.Verdict.State == store.Busy {
					a.Verdict = store.Verdict{State: store.Claimed, Attempt: 1}
				}
				return a
			})
		}
	},
	caught: []string{
		"of two claims on one key in a batch the second is busy",
		"of many concurrent batches exactly one is granted each key",
	},
}, {
	mistake: "forgets the limit of attempts in a batch",
	change: func(s *reference) {
		s.claimAll = func(requests []store.ClaimRequest, claim claimOne) []store.ClaimAnswer {
			return each(requests, func(r store.ClaimRequest) store.ClaimAnswer {
				r.MaxAttempts = 0
				return claim(r)
			})
		}
	},
	caught: []string{
		"a batch of claims counts attempts and parks beyond the limit",
	},
}, {
	mistake: "answers a batch of settlements in the wrong order",
	change: func(s *reference) {
		s.settleAll = func(settlements []store.Settlement, settle settleOne) []store.SettleAnswer {
			answers := each(settlements, settle)
			slices.Reverse(answers)
			return answers
		}
	},
	caught: []string{
		"a batch of settlements answers each in its place",
	},
}, {
	mistake: "stops a batch of settlements at the first that fails",
	change: func(s *reference) {
		s.settleAll = func(settlements []store.Settlement, settle settleOne) []store.SettleAnswer {
			var failed error
			return each(settlements, func(t store.Settlement) store.SettleAnswer {
				if failed != nil {
					return store.SettleAnswer{Err: failed}
				}
				a := settle(t)
				failed = a.Err
				return a
			})
		}
	},
	caught: []string{
		"a batch of settlements answers each in its place",
		"an invalid settlement is refused alone among its batch",
	},
}, {
	mistake: "completes what a batch asks to release",
	change: func(s *reference) {
		s.settleAll = func(settlements []store.Settlement, settle settleOne) []store.SettleAnswer {
			return each(settlements, func(t store.Settlement) store.SettleAnswer {
				if t.Keep == 0 {
					t.Keep = time.Hour
				}
				return settle(t)
			})
		}
	},
	caught: []string{
		"a batch of settlements answers each in its place",
		"a batch of releases counts the attempts that ran",
	},
}, {
	mistake: "remembers a whole batch for the longest keep in it",
	change: func(s *reference) {
		s.settleAll = func(settlements []store.Settlement, settle settleOne) []store.SettleAnswer {
			var longest time.Duration
			for _, t := range settlements {
				longest = max(longest, t.Keep)
			}
			return each(settlements, func(t store.Settlement) store.SettleAnswer {
				if t.Keep >= store.MinDuration {
					t.Keep = longest
				}
				return settle(t)
			})
		}
	},
	caught: []string{
		"a batch remembers each completion for its own keep",
	},
}, {
	mistake: "takes every release of a batch for one that ran",
	change: func(s *reference) {
		s.settleAll = func(settlements []store.Settlement, settle settleOne) []store.SettleAnswer {
			return each(settlements, func(t store.Settlement) store.SettleAnswer {
				t.Ran = true
				return settle(t)
			})
		}
	},
	caught: []string{
		"a batch of releases counts the attempts that ran",
	},
}}
