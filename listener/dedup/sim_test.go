package dedup

import (
	"bytes"
	"math/rand/v2"
	"time"
)

// The simulation drives the shipped step function by a seeded scheduler in one
// goroutine, between a fake broker and a fake store. Processes crash, pause and
// drain; calls are lost, late or without an answer; the store is away, loses
// records or sets its clock. The judge knows what really happens and holds it
// against the invariants of DESIGN.md. One seed is one run, byte for byte.
//
//	sim_clock_test.go     time and chance
//	sim_broker_test.go    messages: at least once, retries, dead letters
//	sim_process_test.go   consumers and what befalls them
//	sim_batch_test.go     a batch of deliveries and its callbacks
//	sim_answer_test.go    what it answers to the broker
//	sim_delivery_test.go  one machine
//	sim_wire_test.go      its calls
//	sim_journal_test.go   successes that are recorded later
//	sim_store_test.go     the rules of the contract
//	sim_key_test.go       the truth about a key, and what a store may lose
//	sim_judge_test.go     the invariants
//	sim_run_test.go       the tests
//	sim_fidelity_test.go  the fake store beside a real one
//	sim_bug_test.go       bugs that it must find

const (
	simKeep  = 24 * time.Hour
	simStorm = 5 * time.Minute // how long there are faults
	simEnd   = 12 * time.Hour  // when every message must have ended
)

// simPlan is what a seed has. What it lacks relaxes no invariant.
type simPlan struct {
	lease, horizon time.Duration // of most processes
	mixed          bool          // processes have settings of their own
	pauses         bool          // for longer than a lease
	losses         bool          // of records
	jumps          bool          // of the store's clock
	outages        bool
	producer       bool // the adapter can publish
	batch          int  // the most messages of a batch
}

type sim struct {
	simClock
	plan      simPlan
	bug       simBug
	faults    bool
	store     simStore
	broker    simBroker
	judge     simJudge
	processes []*simProcess
	keys      []*simKey
	tokens    int
	violation string
	tally     simTally
}

// simTally counts what happens in runs.
type simTally map[string]int

// newSim prepares the run of a seed. The log is optional.
func newSim(seed uint64, bug simBug, log *bytes.Buffer) *sim {
	s := &sim{simClock: simClock{rng: rand.New(rand.NewPCG(seed, 1)), log: log}, bug: bug, faults: true, tally: simTally{}}
	s.broker.s, s.judge.s = s, s
	s.store = simStore{s: s, skew: 1000 * time.Hour} // it shows none of the others' time
	s.plan = simPlan{
		lease: 3 * time.Second, horizon: 20 * time.Minute,
		mixed: s.chance(40), pauses: s.chance(40), losses: s.chance(30), jumps: s.chance(30),
		outages: s.chance(40), producer: s.chance(50), batch: 1 + s.rng.IntN(4),
	}
	for range 2 + s.rng.IntN(3) {
		s.processes = append(s.processes, s.newProcess(len(s.processes)))
	}
	for range 2 + s.rng.IntN(4) {
		s.keys = append(s.keys, s.newKey(len(s.keys)))
	}
	return s
}

func (s *sim) newKey(id int) *simKey {
	k := &simKey{id: id, verified: s.chance(30)}
	if s.chance(40) {
		k.most = 2 + s.rng.IntN(3)
	}
	k.poison = s.chance(20)
	k.fatal = k.poison && k.most > 0 && s.chance(50)
	return k
}

// run publishes the copies of every key and goes on until each has ended, or
// until an invariant is broken.
func (s *sim) run() {
	for _, k := range s.keys {
		begins := s.upTo(time.Minute)
		for range 2 + s.rng.IntN(4) {
			s.broker.publish(&simMessage{key: k}, begins+s.upTo(5*time.Second))
		}
	}
	for range 30 {
		s.after(s.upTo(simStorm), simDisaster{s}.strike)
	}
	if s.plan.outages {
		for range 1 + s.rng.IntN(3) {
			s.after(s.upTo(simStorm/2), func() { s.outage(s.upTo(simStorm / 4)) })
		}
	}
	s.after(simStorm, func() { s.faults = false })
	for len(s.queue) > 0 && s.violation == "" {
		do := s.next()
		if s.now > simEnd || s.events > 200_000 {
			s.judge.broken("every end", "%d messages are open", s.broker.open)
			return
		}
		do()
	}
	if s.violation == "" {
		s.judge.atEnd()
	}
}

func (s *sim) outage(d time.Duration) {
	s.note("the store is away for %v", d)
	s.store.down = true
	s.after(d, func() { s.store.down = false; s.note("the store is back") })
}
