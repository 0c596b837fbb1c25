package storetest_test

import (
	"errors"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// forgetting is the change that forgets in another way what is in such a state.
func forgetting(state string, otherwise func(*reference, *record) error) func(*reference) {
	return func(s *reference) {
		s.forget = func(rec *record) error {
			if rec.state == state {
				return otherwise(s, rec)
			}
			return forget(rec)
		}
	}
}

func leave(*reference, *record) error { return nil }

func forgetAnyway(_ *reference, rec *record) error {
	*rec = record{}
	return nil
}

// forgetInTwoSteps deletes what it has seen lapsed, whatever it is by then.
func forgetInTwoSteps(s *reference, rec *record) error {
	if !rec.lapsed() {
		return store.ErrInFlight
	}
	s.yield()
	return forgetAnyway(s, rec)
}

var wrongForgets = []wrong{{
	mistake: "does not forget what is consumed",
	change:  forgetting(done, leave),
	caught: []string{
		"a consumed key that was forgotten can run again",
		"there is nothing to forget where there is no record, or only an expired one",
	},
}, {
	mistake: "does not forget what is parked",
	change:  forgetting(parked, leave),
	caught: []string{
		"a parked key that was forgotten can run again",
	},
}, {
	mistake: "does not forget a released claim",
	change:  forgetting(givenBack, leave),
	caught: []string{
		"forgetting a lapsed or released key begins its attempts anew",
	},
}, {
	mistake: "lets the owner of a forgotten claim release it",
	change: forgetting(givenBack, func(_ *reference, rec *record) error {
		rec.attempt = 0
		return nil
	}),
	caught: []string{
		"forgetting a lapsed or released key begins its attempts anew",
	},
}, {
	mistake: "does not forget what it does not understand",
	change: forgetting(garbage, func(*reference, *record) error {
		return errors.New("a record that cannot be understood")
	}),
	caught: []string{
		"forget removes a record that cannot be understood",
	},
}, {
	mistake: "forgets claims in flight",
	change:  forgetting(inFlight, forgetAnyway),
	caught: []string{
		"a claim in flight is not forgotten and loses nothing",
	},
}, {
	mistake: "ends the lease of a claim that it refuses to forget",
	change: forgetting(inFlight, func(_ *reference, rec *record) error {
		if rec.lapsed() {
			return forget(rec)
		}
		rec.become(givenBack, 0)
		return store.ErrInFlight
	}),
	caught: []string{
		"a claim in flight is not forgotten and loses nothing",
	},
}, {
	mistake: "is content to forget nothing",
	change:  forgetting("", leave),
	caught: []string{
		"there is nothing to forget where there is no record, or only an expired one",
	},
}, {
	mistake: "reads, then forgets",
	change:  forgetting(inFlight, forgetInTwoSteps),
	caught: []string{
		"of many concurrent claims beside a forget exactly one is granted",
	},
}, {
	mistake: "forgets every key that begins like the one it is given",
	change: forgetting(done, func(s *reference, rec *record) error {
		for _, other := range s.records {
			if other.state == done && strings.HasPrefix(other.key.ID, rec.key.ID) && other != rec {
				*other = record{}
			}
		}
		return forget(rec)
	}),
	caught: []string{
		"forget touches no other key's record",
	},
}}
