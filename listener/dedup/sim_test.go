package dedup

import (
	"container/heap"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The simulation drives the shipped step function by a seeded, single-threaded
// scheduler: processes that crash and pause, a store that loses replies and
// applies calls late, a broker that delivers again whatever was not finished.
// What it checks stands in check; a seed replays exactly.

// simKeyed is one key: its record, its broker copies and what really happened.
type simKeyed struct {
	record  simRecord
	effects int // callbacks that succeeded
	open    int // deliveries that are not finished
	live    map[*simDelivery]bool
}

// simRecord is the contract's record; times are the store's clock.
type simRecord struct {
	state          byte // 0 absent, P, R, D, X
	token          int
	attempt        int
	lease, horizon time.Duration
	until          time.Duration // end of the lease, of the memory, or of the keep
}

type simDelivery struct {
	key        *simKeyed
	token      int
	machine    machine
	dead       bool // its process crashed
	begun      bool // its batch is complete, if it is in one
	inCallback bool
	stubborn   bool // ignores cancellation
	cancelled  bool
	told       store.State // the last verdict that reached it
	ticket     int         // the callback's pending return; a newer one replaces it
}

type sim struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Duration
	events simEvents
	seq    int
	tokens int
	faults bool
	pauses bool // processes stop for longer than a lease
	keys   []*simKeyed
	trace  uint64
	ran    int
}

type simEvent struct {
	at  time.Duration
	seq int
	do  func()
}

type simEvents []simEvent

func (e simEvents) Len() int { return len(e) }
func (e simEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e simEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *simEvents) Push(x any)   { *e = append(*e, x.(simEvent)) }
func (e *simEvents) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

var simPolicy = Policy{
	Lease: 3 * time.Second, MaxConsume: 20 * time.Second, Keep: time.Hour, Horizon: 10 * time.Minute,
}.WithDefaults()

func newSim(t *testing.T, seed uint64) *sim {
	return &sim{t: t, rng: rand.New(rand.NewPCG(seed, 1)), faults: true, pauses: seed%2 == 0}
}

func (s *sim) after(d time.Duration, do func()) {
	s.seq++
	heap.Push(&s.events, simEvent{s.now + d, s.seq, do})
}

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *sim) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d))) }

// note folds what happens into a fingerprint of the whole run.
func (s *sim) note(format string, args ...any) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d ", s.trace, s.now)
	fmt.Fprintf(h, format, args...)
	s.trace = h.Sum64()
}

// play delivers every key's copies until each is finished and returns the trace.
func (s *sim) play(keys, copies int) uint64 {
	for range keys {
		k := &simKeyed{live: map[*simDelivery]bool{}}
		s.keys = append(s.keys, k)
		for range copies {
			k.open++
			s.after(s.upTo(2*time.Second), func() { s.deliver(k) })
		}
	}
	s.after(5*time.Minute, func() { s.faults = false })
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(simEvent)
		if s.now = e.at; s.now > 2*time.Hour || s.seq > 100_000 {
			s.t.Fatalf("still busy after %v and %d events: a delivery never ends", s.now, s.seq)
		}
		e.do()
	}
	for i, k := range s.keys {
		if k.effects == 0 || k.open != 0 {
			s.t.Errorf("key %d: %d effects, %d deliveries open, want at least 1 and 0", i, k.effects, k.open)
		}
	}
	return s.trace
}

func (s *sim) deliver(k *simKeyed) {
	s.tokens++
	d := &simDelivery{key: k, token: s.tokens, stubborn: s.chance(20)}
	d.machine.policy = simPolicy
	if s.chance(50) {
		d.machine.policy.Outage = OutageRetry
	}
	d.machine.limits = limits{claim: s.upTo(3 * time.Second), settle: 20 * time.Second, renews: true, parks: true}
	s.perform(d, d.machine.step(input{kind: inStart, now: s.now}))
	if s.faults && s.chance(10) {
		s.after(s.upTo(8*time.Second), func() { s.crash(d) })
	}
}

// crash ends the process of d: the broker delivers the message again.
func (s *sim) crash(d *simDelivery) {
	if d.dead || d.machine.phase == ended {
		return
	}
	d.dead = true
	delete(d.key.live, d)
	s.note("crash %d", d.token)
	s.after(s.upTo(time.Second), func() { s.deliver(d.key) })
}

// feed steps d at a time of the scheduler's choosing, as if the process had
// been paused before.
func (s *sim) feed(d *simDelivery, delay time.Duration, in input) {
	if s.faults && s.pauses && s.chance(5) {
		delay += s.upTo(2 * simPolicy.Lease)
	}
	s.after(delay, func() {
		if d.dead {
			return
		}
		in.now, in.jitter = s.now, s.rng.Float64()
		if in.kind == inClaimed {
			d.told = in.verdict.State
		}
		s.note("%d %d %v", d.token, in.kind, in.err)
		s.perform(d, d.machine.step(in))
	})
}

func (s *sim) perform(d *simDelivery, a action) {
	s.check(d, a)
	switch a.kind {
	case actClaim:
		if a.anew {
			s.tokens++
			d.token = s.tokens
		}
		token := d.token // a late call keeps it
		s.call(d, a.after, inClaimed, func(in *input) { in.verdict = s.claim(d, token) })
	case actHold:
		s.feed(d, min(s.upTo(10*time.Second), a.after), input{kind: inResumed, turn: s.chance(70)})
	case actAbandon:
		token := d.token
		s.call(d, 0, inSettled, func(in *input) { in.err = s.release(d, token, false) })
	case actRenew:
		s.call(d, 0, inRenewed, func(in *input) { in.err = s.renew(d) })
		s.tickLater(d)
	case actRun:
		if s.beginLater(d) {
			return
		}
		s.run(d)
	case actCancel:
		d.cancelled = true
		s.tickLater(d)
		if !d.stubborn {
			s.callbackEnds(d, s.upTo(100*time.Millisecond), errors.New("cancelled"))
		}
	case actComplete:
		s.call(d, a.after, inSettled, func(in *input) { in.completion = s.complete(d) })
	case actJournal:
		s.call(d, s.upTo(a.after+1), inJournaled, func(in *input) { in.completion = s.complete(d) })
	case actRelease:
		s.call(d, a.after, inSettled, func(in *input) { in.err = s.release(d, d.token, d.machine.ran) })
	case actEnd:
		s.end(d)
	default:
		s.tickLater(d)
	}
}

func (s *sim) tickLater(d *simDelivery) {
	if at := d.machine.wake(); at != never {
		s.feed(d, max(0, at-s.now), input{kind: inTick})
	}
}

// call sends one call to the store, with the faults of a network.
func (s *sim) call(d *simDelivery, wait time.Duration, kind inputKind, apply func(*input)) {
	s.after(wait, func() {
		if d.dead {
			return
		}
		in := input{kind: kind, sent: s.now}
		fault := 0
		if s.faults {
			fault = s.rng.IntN(10)
		}
		switch fault {
		case 1: // cut before: never applied
			in.err = &store.Error{Class: store.NotApplied, Err: errors.New("refused")}
			s.feed(d, s.upTo(time.Second), in)
		case 2: // lost reply, applied at once or late, even after the caller gave up
			s.after(s.upTo(6*time.Second), func() { var lost input; apply(&lost) })
			in.err = &store.Error{Class: store.Unknown, Err: errors.New("timeout")}
			s.feed(d, time.Second, in)
		default:
			s.after(s.upTo(20*time.Millisecond), func() {
				apply(&in)
				s.feed(d, s.upTo(20*time.Millisecond), in)
			})
		}
	})
}

// beginLater lets some deliveries wait for the rest of a batch first.
func (s *sim) beginLater(d *simDelivery) bool {
	waits := !d.begun && s.faults && s.chance(30)
	d.begun = true
	if waits {
		s.feed(d, s.upTo(10*time.Second), input{kind: inBegin})
		s.tickLater(d)
	}
	return waits
}

func (s *sim) run(d *simDelivery) {
	d.inCallback = true
	d.key.live[d] = true
	s.ran++
	length, err := s.upTo(200*time.Millisecond), error(nil)
	if s.faults && s.chance(20) {
		length = s.upTo(30 * time.Second)
	}
	if s.faults && s.chance(25) {
		err = errors.New("callback failed")
	}
	s.callbackEnds(d, length, err)
	s.tickLater(d)
}

func (s *sim) callbackEnds(d *simDelivery, in time.Duration, err error) {
	d.ticket++
	ticket := d.ticket
	s.after(in, func() {
		if d.dead || !d.inCallback || d.ticket != ticket {
			return
		}
		d.inCallback = false
		delete(d.key.live, d)
		if err == nil {
			d.key.effects++
		}
		s.feed(d, 0, input{kind: inReturned, err: err})
	})
}

func (s *sim) end(d *simDelivery) {
	o := d.machine.result.Outcome
	s.note("%d ends %v", d.token, o)
	if o.Finished() {
		d.key.open--
		if d.key.effects == 0 {
			s.t.Errorf("acknowledged without an effect")
		}
		return
	}
	s.after(time.Second+d.machine.result.Left, func() { s.deliver(d.key) })
}

// check holds for every action of the machine.
func (s *sim) check(d *simDelivery, a action) {
	if d.inCallback && (a.kind == actRelease || a.kind == actComplete || a.kind == actEnd || a.kind == actRun) {
		s.t.Errorf("action %d while the callback runs", a.kind)
	}
	if a.kind != actRun {
		return
	}
	if d.told != store.Claimed {
		s.t.Errorf("ran although the last claim was answered %v", d.told)
	}
	if held := s.now - d.machine.held; held > simPolicy.Lease*2/3 {
		s.t.Errorf("ran %v after its claim was sent, with less than a third of the lease", held)
	}
	for other := range d.key.live {
		expired := s.now >= other.machine.held+simPolicy.Lease
		if !other.cancelled && !(s.pauses && expired) {
			s.t.Errorf("two live owners of one key, lease expired: %t", expired)
		}
	}
}

// The store's side: the step table of the contract.

func (s *sim) claim(d *simDelivery, token int) store.Verdict {
	r := &d.key.record
	if r.state != 0 && s.now >= r.until+r.horizon {
		*r = simRecord{}
	}
	switch {
	case r.state == 'D':
		return store.Verdict{State: store.Done}
	case r.state == 'P' && r.token == token, r.state == 0:
		if r.state == 0 {
			r.attempt = 1
		}
	case r.state == 'R' && r.token == token:
		return store.Verdict{} // refused: treated as an answer that says nothing
	case r.state == 'P' && s.now < r.until:
		return store.Verdict{State: store.Busy, Left: r.until - s.now}
	default:
		r.attempt++
	}
	*r = simRecord{'P', token, r.attempt, simPolicy.Lease, simPolicy.Horizon, s.now + simPolicy.Lease}
	return store.Verdict{State: store.Claimed, Attempt: r.attempt}
}

func (s *sim) renew(d *simDelivery) error {
	r := &d.key.record
	if r.state != 'P' || r.token != d.token || s.now >= r.until+r.horizon {
		return store.ErrNotOwner
	}
	r.until = s.now + r.lease
	return nil
}

func (s *sim) release(d *simDelivery, token int, ran bool) error {
	r := &d.key.record
	switch {
	case r.token != token || r.state != 'P' && r.state != 'R':
		return store.ErrNotOwner
	case r.state == 'R':
		return nil
	}
	if !ran {
		r.attempt--
	}
	r.state, r.until = 'R', s.now
	return nil
}

func (s *sim) complete(d *simDelivery) store.Completion {
	d.key.record = simRecord{state: 'D', token: d.token, until: s.now + simPolicy.Keep}
	return store.Completed
}

func TestRandomSchedules(t *testing.T) {
	seeds := 1500
	if testing.Short() {
		seeds = 200
	}
	ran := 0
	for seed := range seeds {
		s := newSim(t, uint64(seed))
		s.play(4, 3)
		if ran += s.ran; t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d seeds, %d callback runs", seeds, ran)
}

func TestASeedReplaysExactly(t *testing.T) {
	for seed := range uint64(50) {
		first, second := newSim(t, seed).play(4, 3), newSim(t, seed).play(4, 3)
		if first != second {
			t.Fatalf("seed %d: traces %x and %x differ", seed, first, second)
		}
	}
}
