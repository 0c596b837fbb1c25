package redisstore_test

import (
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simMessage is one command on its way.
type simMessage struct {
	o       *simOwner
	token   store.Token
	what    string
	command []any

	slow    bool // to arrive
	arrived bool
	left    bool // by its caller, while it was on the wire
	stray   bool // its connection was given up: whoever sent it was told so

	before   string // the record that it met
	met      string // what SET with GET answered
	found    bool
	answer   int64         // of a script
	leaseEnd time.Duration // of the owner's claim afterwards
}

// awaited tells that the owner waits for the reply.
func (m *simMessage) awaited() bool { return !m.left && !m.stray }

// unresolved tells that nobody knows yet what becomes of it.
func (m *simMessage) unresolved() bool { return m.left && !m.stray }

// pick chooses a message on the wire, or nil.
func (s *sim) pick(is func(*simMessage) bool) *simMessage {
	var some []*simMessage
	for _, m := range s.wire {
		if is(m) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[s.random.IntN(len(some))]
}

func (s *sim) remove(m *simMessage) {
	s.wire = slices.DeleteFunc(s.wire, func(o *simMessage) bool { return o == m })
}

// answer hands out a reply, or loses it.
func (s *sim) answer() {
	m := s.pick(func(m *simMessage) bool { return m.arrived })
	if m == nil {
		return
	}
	s.remove(m)
	switch {
	case !m.awaited():
	case s.random.IntN(6) == 0:
		m.o.lost(m)
	default:
		m.o.replied(m)
	}
}

// cut ends the connection of a message on its way to the server. It may still
// arrive.
func (s *sim) cut() {
	m := s.pick(func(m *simMessage) bool { return !m.arrived && !m.stray })
	if m == nil {
		return
	}
	awaited := m.awaited()
	m.stray = true
	if s.random.IntN(2) == 0 {
		s.remove(m)
	}
	if awaited {
		m.o.lost(m)
	}
}

// leave has a caller leave its claim on the wire, and claim again or release.
func (s *sim) leave() {
	m := s.pick(func(m *simMessage) bool { return m.awaited() && strings.HasSuffix(m.what, "claim") })
	if m == nil {
		return
	}
	m.left = true
	m.o.phase, m.o.sent = simClaiming, s.now
	if s.random.IntN(2) == 0 {
		m.o.phase = simReleasing
	}
	s.note("%d leaves its %s on the wire, and is %s", m.o.id, m.what, m.o.phase)
	m.o.goOn()
}

// arrive executes a message on the server and judges what it did.
func (s *sim) arrive() {
	m := s.pick(func(m *simMessage) bool { return !m.arrived && (!m.slow || s.random.IntN(15) == 0) })
	if m == nil {
		return
	}
	before, lived := s.look()
	reply, err := s.client.Do(s.t.Context(), m.command...).Result()
	if err != nil && err != redis.Nil && !strings.Contains(err.Error(), "user_script") {
		s.t.Fatalf("%s: %v", m.what, err)
	}
	m.arrived, m.before = true, before
	m.met, m.found = reply.(string)
	if numbers, ok := reply.([]any); ok && len(numbers) > 0 {
		m.answer, _ = numbers[0].(int64)
	}
	after, lives := s.look()
	s.note("the %s of %d arrives: %q (%.2fh) becomes %q (%.2fh)", m.what, m.o.id, before, lived.Hours(), after,
		lives.Hours())
	if before != after {
		s.persisted = false
	}
	s.judge(m, before, after, lives)
	if m.stray {
		s.remove(m)
	}
}
