package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// The simulation plays the rules of the fast path at random: consumers with
// different settings, some of them with scripts only, claim one key of a real
// server. Their commands arrive late, in any order or not at all, replies are
// lost, callers leave, processes end, expiries get lost and time passes, all by
// one seed. The rules are those of the package: its commands, its scripts, its
// judgement of what a command met, and the order of what one owner sends.
//
// Time is simulated, too: it passes when the simulation takes it from what the
// record has left to live. Durations are so long that the real time of a run
// does not count.

// rules are the rules of the package, and in a test one of them left out.
type rules struct {
	claim         func(name string, t store.Token, lease, horizon int64) []any
	judgeClaim    func(met string, found bool, token string) []int64
	judgeComplete func(token string, keep int64, met string, found bool) ([]int64, int64)
	prolong       string // a script
	claimWaits    bool   // for an earlier copy on the wire
	releaseWaits  bool
	newToken      bool // for every delivery
}

func theRules() rules {
	return rules{
		claim:         redisstore.FastClaim,
		judgeClaim:    func(met string, found bool, _ string) []int64 { return redisstore.JudgeClaim(met, found) },
		judgeComplete: redisstore.JudgeComplete,
		prolong:       redisstore.ProlongLua,
		claimWaits:    true, releaseWaits: true, newToken: true,
	}
}

func TestTheRulesOfTheFastPathHoldAtRandom(t *testing.T) {
	t.Parallel()
	claims := 0
	for seed := range uint64(600) {
		s := newSim(t, seed, theRules())
		s.run()
		if claims += s.granted; s.violation != "" {
			t.Fatalf("seed %d: %s\n%s", seed, s.violation, strings.Join(s.log, "\n"))
		}
	}
	t.Logf("%d claims were granted", claims)
}

func TestEveryRuleOfTheFastPathIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		without string
		change  func(*rules)
	}{
		{"NX", func(r *rules) {
			r.claim = func(name string, t store.Token, lease, horizon int64) []any {
				set := redisstore.FastClaim(name, t, lease, horizon)
				return append(set[:3:3], set[4:]...)
			}
		}},
		{"the horizon in the life of a grant", func(r *rules) {
			r.claim = func(name string, t store.Token, lease, horizon int64) []any {
				set := redisstore.FastClaim(name, t, lease, horizon)
				return append(set[:len(set)-1], lease)
			}
		}},
		{"reading all of a done record", func(r *rules) {
			r.judgeClaim = func(met string, found bool, _ string) []int64 {
				if strings.HasPrefix(met, "D") {
					return []int64{3, 0, 0}
				}
				return redisstore.JudgeClaim(met, found)
			}
		}},
		{"the script for one's own claim", func(r *rules) {
			r.judgeClaim = func(met string, found bool, token string) []int64 {
				if strings.HasPrefix(met, "P|"+token) {
					return []int64{1, 1, 0}
				}
				return redisstore.JudgeClaim(met, found)
			}
		}},
		{"putting the longer keep back", func(r *rules) {
			r.judgeComplete = func(token string, keep int64, met string, found bool) ([]int64, int64) {
				answer, _ := redisstore.JudgeComplete(token, keep, met, found)
				return answer, 0
			}
		}},
		{"putting the longer keep back over another's", func(r *rules) {
			r.prolong = strings.Replace(redisstore.ProlongLua, "record.kind == 'D')", "record.token == token)", 1)
		}},
		{"a claim that waits for its copy", func(r *rules) { r.claimWaits = false }},
		{"a release that waits for its claim", func(r *rules) { r.releaseWaits = false }},
		{"a new token for every delivery", func(r *rules) { r.newToken = false }},
	} {
		t.Run(c.without, func(t *testing.T) {
			t.Parallel()
			r := theRules()
			c.change(&r)
			for seed := range uint64(4000) {
				s := newSim(t, seed, r)
				if s.run(); s.violation != "" {
					t.Logf("seed %d: %s", seed, s.violation)
					return
				}
			}
			t.Errorf("nothing goes wrong without %s", c.without)
		})
	}
}

// sim is one run.
type sim struct {
	t         *testing.T
	client    *redis.Client
	random    *rand.Rand
	rules     rules
	name      string
	blind     bool          // owners also run without a claim, as when the store is away
	now       time.Duration // simulated
	owners    []*simOwner
	wire      []*simMessage // that have not arrived, or whose reply has not
	log       []string
	violation string
	granted   int

	over      map[store.Token]bool // owners that have finished
	doneUntil time.Duration        // what completes were promised
	persisted bool                 // the record has lost its expiry since it was written
}

const (
	simSteps  = 120
	simOwners = 4
	tolerance = time.Minute // of real time and of rounding
)

func newSim(t *testing.T, seed uint64, r rules) *sim {
	s := &sim{
		t: t, client: shared(t), random: rand.New(rand.NewPCG(seed, 0)), rules: r,
		name: recordName(newKey()), over: map[store.Token]bool{}, doneUntil: -1,
	}
	s.blind = s.random.IntN(3) == 0
	for i := range simOwners {
		s.owners = append(s.owners, s.newOwner(i))
	}
	return s
}

func (s *sim) hours(n int) time.Duration { return time.Duration(1+s.random.IntN(n)) * time.Hour }

func (s *sim) fail(format string, args ...any) {
	if s.violation == "" {
		s.violation = fmt.Sprintf(format, args...)
		s.note("VIOLATION: %s", s.violation)
	}
}

func (s *sim) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8.2fh ", s.now.Hours())+fmt.Sprintf(format, args...))
}

// run plays the steps, lets everything come to rest and looks at what is left.
func (s *sim) run() {
	defer s.client.Close()
	for step := 0; step < simSteps && s.violation == ""; step++ {
		s.step()
	}
	s.rest()
}

func (s *sim) step() {
	switch p := s.random.IntN(100); {
	case p < 35:
		s.arrive()
	case p < 65:
		s.answer()
	case p < 70:
		s.cut()
	case p < 75:
		s.leave()
	case p < 90:
		s.owners[s.random.IntN(len(s.owners))].act()
	case p < 97:
		s.pass(time.Duration(s.random.Int64N(int64(5 * time.Hour))))
	case p < 98:
		s.persist()
	default:
		s.spoil()
	}
}

// pass lets time pass.
func (s *sim) pass(d time.Duration) {
	if s.between() {
		return
	}
	s.now += d
	ctx := s.t.Context()
	left := s.client.PTTL(ctx, s.name).Val()
	switch {
	case left < 0:
	case left <= d:
		s.client.Del(ctx, s.name)
	default:
		s.client.PExpire(ctx, s.name, left-d)
	}
}

func (s *sim) persist() {
	if s.client.Persist(s.t.Context(), s.name).Val() {
		s.persisted = true
		s.note("the record loses its expiry")
	}
}

// spoil leaves what no script writes where nothing is, for a while.
func (s *sim) spoil() {
	value := malformed[1+s.random.IntN(len(malformed)-1)] // the first one is empty
	if s.doneUntil < s.now && s.client.SetNX(s.t.Context(), s.name, value, 5*time.Hour).Val() {
		s.note("somebody writes %q", value)
	}
}

// rest lets everything arrive and everybody finish. Then nobody may hold the key
// for longer than a lease.
func (s *sim) rest() {
	s.pass(s.hours(24))
	for range 1000 {
		if s.violation != "" || len(s.wire) == 0 && !s.busy() {
			break
		}
		s.arrive()
		s.answer()
		for _, o := range s.owners {
			o.stop()
		}
	}
	s.probe() // a record without an expiry is given one when it is met
	s.pass(6 * time.Hour)
	before, _ := s.look()
	if kind := simKind(before); !s.probe() && kind != "D" && kind != "?" {
		s.fail("the key is still held by %q a lease after everybody has finished", before)
	}
}

// probe claims the key for somebody new and reports whether that was granted.
func (s *sim) probe() bool {
	o := s.newOwner(simOwners)
	o.fast = false
	o.begin()
	for o.phase == simClaiming && s.violation == "" {
		s.arrive()
		s.answer()
	}
	return o.phase == simRunning
}

func (s *sim) busy() bool {
	for _, o := range s.owners {
		if o.phase != simIdle {
			return true
		}
	}
	return false
}

func (s *sim) look() (value string, left time.Duration) {
	return s.client.Get(s.t.Context(), s.name).Val(), s.client.PTTL(s.t.Context(), s.name).Val()
}

// simKind is the kind of a record, "?" for one that nobody can read, "" for none.
func simKind(value string) string {
	switch {
	case value == "":
		return ""
	case !wellFormed.MatchString(value):
		return "?"
	}
	return value[:1]
}
