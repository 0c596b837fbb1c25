package storetest_test

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func (s *reference) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	if err := s.check(ctx, p.Validate()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return []store.Beat{s.pulse(s, p)}, nil
}

func pulse(s *reference, p store.Pulse) store.Beat {
	b := s.swap(p.Application+" "+p.Node.String(), p.Number)
	b.Doubt = s.doubt(p.Application, p.Doubt)
	return b
}

// doubt notes a doubt under a name if there is one, and tells how old the latest is.
func (s *reference) doubt(name string, now bool) time.Duration {
	if now {
		s.doubts[name] = time.Now()
	}
	if since, ok := s.doubts[name]; ok {
		return time.Since(since)
	}
	return -1
}

func (s *reference) swap(name string, number int64) store.Beat {
	b := store.Beat{Before: s.pulses[name], Run: "reference", Time: time.Now(), Doubt: -1}
	s.pulses[name] = number
	return b
}

// beating changes what a right pulse answers.
func beating(change func(*store.Beat, store.Pulse)) func(*reference) {
	return func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			b := pulse(s, p)
			change(&b, p)
			return b
		}
	}
}

var wrongPulses = []wrong{{
	mistake: "answers a pulse with its own number",
	change:  beating(func(b *store.Beat, p store.Pulse) { b.Before = p.Number }),
	caught: []string{
		"a pulse answers the number of the one before",
		"every node of every application counts its pulses alone",
		"a pulse is remembered for PulseKeep",
		"the same server answers pulses with the same run and counts what it evicts",
		"a pulse tells the time of the store",
	},
}, {
	mistake: "counts the pulses instead of remembering their numbers",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			p.Number = s.pulses[p.Application+" "+p.Node.String()] + 1
			return pulse(s, p)
		}
	},
	caught: []string{
		"a pulse answers the number of the one before",
		"every node of every application counts its pulses alone",
	},
}, {
	mistake: "has the nodes of an application count together",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			b := s.swap(p.Application, p.Number)
			b.Doubt = s.doubt(p.Application, p.Doubt)
			return b
		}
	},
	caught: []string{
		"every node of every application counts its pulses alone",
	},
}, {
	mistake: "has the applications of a node count together",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			b := s.swap(p.Node.String(), p.Number)
			b.Doubt = s.doubt(p.Application, p.Doubt)
			return b
		}
	},
	caught: []string{
		"every node of every application counts its pulses alone",
	},
}, {
	mistake: "forgets a pulse after a minute",
	change: func(s *reference) {
		var last time.Time
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			if time.Since(last) > time.Minute {
				clear(s.pulses)
			}
			last = time.Now()
			return pulse(s, p)
		}
	},
	caught: []string{
		"a pulse is remembered for PulseKeep",
	},
}, {
	mistake: "names its run anew with each pulse",
	change:  beating(func(b *store.Beat, _ store.Pulse) { b.Run = store.NewToken().String() }),
	caught: []string{
		"the same server answers pulses with the same run and counts what it evicts",
	},
}, {
	mistake: "tells how much was evicted since the pulse before",
	change:  beating(func(b *store.Beat, p store.Pulse) { b.Evicted = 10 - p.Number }),
	caught: []string{
		"the same server answers pulses with the same run and counts what it evicts",
	},
}, {
	mistake: "tells the time in units of its own",
	change:  beating(func(b *store.Beat, _ store.Pulse) { b.Time = time.Unix(0, time.Now().UnixMilli()) }),
	caught: []string{
		"a pulse tells the time of the store",
	},
}, {
	mistake: "tells of a doubt only who had it",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			b := pulse(s, p)
			b.Doubt = s.doubt(p.Application+" "+p.Node.String(), p.Doubt)
			return b
		}
	},
	caught: []string{
		"every node of an application is told since when its records are in doubt",
	},
}, {
	mistake: "tells of a doubt whoever asks",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			b := pulse(s, p)
			b.Doubt = s.doubt("", p.Doubt)
			return b
		}
	},
	caught: []string{
		"every node of an application is told since when its records are in doubt",
	},
}, {
	mistake: "doubts anew with each pulse",
	change:  beating(func(b *store.Beat, _ store.Pulse) { b.Doubt = min(b.Doubt, 0) }),
	caught: []string{
		"every node of an application is told since when its records are in doubt",
	},
}, {
	mistake: "remembers the first doubt only",
	change: func(s *reference) {
		s.pulse = func(s *reference, p store.Pulse) store.Beat {
			_, known := s.doubts[p.Application]
			p.Doubt = p.Doubt && !known
			return pulse(s, p)
		}
	},
	caught: []string{
		"a later doubt takes the place of an earlier one",
	},
}}
