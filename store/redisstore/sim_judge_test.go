package redisstore_test

import (
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// judge wants what a message did to the record to keep the promises.
func (s *sim) judge(m *simMessage, before, after string, lives time.Duration) {
	claim := strings.HasSuffix(m.what, "claim")
	granted := claim && (m.answer == 1 || m.what == "fast claim" && !m.found)
	holds := "P|" + m.token.String()
	if strings.HasPrefix(after, holds) {
		m.leaseEnd = s.now + lives - m.o.horizon
	}
	switch {
	case before != after && lives < 0 && after != "":
		s.fail("a %s leaves a record without an expiry", m.what)
	case granted && lives < m.o.lease+m.o.horizon-tolerance:
		s.fail("a grant lives for %.2fh, less than its lease and horizon", lives.Hours())
	case granted && s.now < s.doneUntil-tolerance:
		s.fail("a claim is granted although the key is done until %.2fh", s.doneUntil.Hours())
	case granted && s.over[m.token] && !m.stray:
		s.fail("a claim is granted to an owner that has finished")
	case simKind(before) == "?" && before != after && !strings.Contains(m.what, "complete"):
		s.fail("a %s writes over what nobody can read", m.what)
	}
	s.judgeOwners(m, before, after)
	if strings.HasSuffix(m.what, "complete") {
		s.doneUntil = max(s.doneUntil, s.now+m.o.keep)
		if m.stray {
			s.excuse()
		}
	}
}

// judgeOwners wants whoever runs under a lease to keep it, unless somebody has
// completed.
func (s *sim) judgeOwners(m *simMessage, before, after string) {
	if simKind(after) == "D" || before == after {
		return
	}
	for _, o := range s.owners {
		holds := "P|" + o.token.String()
		if o.phase == simRunning && s.now < o.until-tolerance && !strings.HasPrefix(after, holds) &&
			strings.HasPrefix(before, holds) {
			s.fail("a %s of %d ends the claim under which %d runs", m.what, m.o.id, o.id)
		}
	}
}

// excuse forgets a longer keep that was lost between the two steps of a fast
// complete, as the package says.
func (s *sim) excuse() {
	value, lives := s.look()
	if _, _, keep, ok := redisstore.Decode(value); ok && lives < 0 {
		lives = time.Duration(keep) * time.Millisecond // when it is given an expiry again
	}
	s.doneUntil = min(s.doneUntil, s.now+max(lives, 0))
}

// between tells that a fast complete is between its two steps. They follow each
// other at once, so no time passes.
func (s *sim) between() bool {
	return s.pick(func(m *simMessage) bool {
		return m.awaited() && (m.what == "prolong" || m.what == "fast complete" && m.arrived)
	}) != nil
}
