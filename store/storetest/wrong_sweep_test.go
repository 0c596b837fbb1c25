package storetest_test

import "slices"

// sweeping is the change that removes other records, in the order given.
func sweeping(choose func(*reference) []string) func(*reference) {
	return func(s *reference) {
		s.sweep = func(s *reference, limit int) int { return s.remove(choose(s), limit) }
	}
}

var wrongSweeps = []wrong{{
	mistake: "sweeps nothing",
	change:  sweeping(func(*reference) []string { return nil }),
	caught: []string{
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "sweeps consumed records only",
	change: sweeping(func(s *reference) []string {
		return slices.DeleteFunc(s.expired(), func(name string) bool { return s.records[name].state != done })
	}),
	caught: []string{
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "sweeps claims whose lease has ended",
	change: sweeping(func(s *reference) []string {
		names := s.expired()
		for name, rec := range s.records {
			if rec.lapsed() && !rec.expired() {
				names = append(names, name)
			}
		}
		return names
	}),
	caught: []string{
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "sweeps what is done and parked",
	change: sweeping(func(s *reference) []string {
		names := s.expired()
		for name, rec := range s.records {
			if (rec.state == done || rec.state == parked) && !rec.expired() {
				names = append(names, name)
			}
		}
		return names
	}),
	caught: []string{
		"a sweep leaves alone what has not expired",
	},
}, {
	mistake: "sweeps one record more than its limit",
	change:  func(s *reference) { s.sweep = func(s *reference, limit int) int { return sweep(s, limit+1) } },
	caught: []string{
		"a sweep removes what has expired",
		"a sweep removes no more than its limit and counts what it removed",
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "sweeps without a limit and counts up to it",
	change: func(s *reference) {
		s.sweep = func(s *reference, limit int) int { return min(limit, sweep(s, len(s.records))) }
	},
	caught: []string{
		"a sweep removes no more than its limit and counts what it removed",
	},
}, {
	mistake: "does not say what it swept",
	change: func(s *reference) {
		s.sweep = func(s *reference, limit int) int {
			sweep(s, limit)
			return 0
		}
	},
	caught: []string{
		"a sweep removes no more than its limit and counts what it removed",
	},
}, {
	mistake: "sweeps the youngest first",
	change: sweeping(func(s *reference) []string {
		names := s.expired()
		slices.Reverse(names)
		return names
	}),
	caught: []string{
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "sweeps in the order of the keys",
	change:  sweeping(func(s *reference) []string { return slices.Sorted(slices.Values(s.expired())) }),
	caught: []string{
		"a sweep removes the longest expired first",
	},
}, {
	mistake: "reads, then sweeps",
	change: sweeping(func(s *reference) []string {
		names := s.expired()
		s.yield()
		return names
	}),
	caught: []string{
		"of many concurrent claims beside sweeps exactly one is granted",
	},
}}
