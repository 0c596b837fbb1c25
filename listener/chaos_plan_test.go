package listener_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// deed is one thing that chaos does, and undoes after a while.
type deed struct {
	kind  deedKind
	at    time.Duration // since chaos began
	lasts time.Duration
	draw  int // chooses among what there is when it is done
}

type deedKind uint8

const (
	doKill    deedKind = iota // a consumer, with kill -9; another joins
	doPause                   // a consumer, for longer than its lease
	doLeave                   // a consumer drains and leaves; another joins later
	doRestart                 // the store dies, with kill -9, and comes back
	doCut                     // the consumers lose the store or its replies
	doHang                    // the store stops, and goes on with what it was sent meanwhile
)

// habits say how often chaos does each deed, and between which times it undoes it.
var habits = [...]struct{ every, shortest, longest time.Duration }{
	doKill:    {every: 5 * time.Second},
	doPause:   {every: 10 * time.Second, shortest: lease * 11 / 10, longest: lease * 5 / 2},
	doLeave:   {every: 20 * time.Second, shortest: time.Second, longest: 5 * time.Second},
	doRestart: {every: 40 * time.Second, shortest: 100 * time.Millisecond, longest: 6 * time.Second},
	doCut:     {every: 20 * time.Second, shortest: 100 * time.Millisecond, longest: 4 * time.Second},
	doHang:    {every: 30 * time.Second, shortest: 100 * time.Millisecond, longest: 4 * time.Second},
}

// newPlan says what chaos does in a time of d: each deed in its turn, at random
// within it. The same seed plans the same.
func newPlan(seed uint64, d time.Duration) (plan []deed) {
	random := rand.New(rand.NewPCG(seed, 0))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d) + 1)) }
	for kind, h := range habits {
		for from := time.Duration(0); from+h.every <= d; from += h.every {
			plan = append(plan, deed{
				kind: deedKind(kind), at: from + upTo(h.every), lasts: h.shortest + upTo(h.longest-h.shortest),
				draw: random.IntN(1 << 30),
			})
		}
	}
	hangBefore(plan)
	slices.SortStableFunc(plan, func(a, b deed) int { return cmp.Compare(a.at, b.at) })
	return plan
}

// revival is how long a server may take until it is back.
const revival = 3 * time.Second

// hangBefore puts each hang of a server that will be dead then, and cannot hang,
// before its death.
func hangBefore(plan []deed) {
	for i := range plan {
		hang := &plan[i]
		for _, death := range slices.Backward(plan) {
			if hang.kind == doHang && death.kind == doRestart &&
				death.at <= hang.at && hang.at < death.at+death.lasts+revival {
				hang.at = max(0, death.at-hang.lasts)
			}
		}
	}
}

// carryOut does what the plan says when its time has come. do returns what
// undoes a deed, or nil.
func carryOut(plan []deed, do func(deed) (undo func())) {
	type step struct {
		at  time.Duration
		run func()
	}
	began := time.Now()
	var steps []step
	add := func(at time.Duration, run func()) {
		i, _ := slices.BinarySearchFunc(steps, at, func(s step, at time.Duration) int { return cmp.Compare(s.at, at) })
		steps = slices.Insert(steps, i, step{at, run})
	}
	for _, d := range plan {
		add(d.at, func() {
			if undo := do(d); undo != nil {
				add(time.Since(began)+d.lasts, undo)
			}
		})
	}
	for len(steps) > 0 {
		next := steps[0]
		steps = steps[1:]
		time.Sleep(next.at - time.Since(began))
		next.run()
	}
}

func TestAPlanOfChaosIsThatOfItsSeedAndHasWhatChaosNeeds(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{45 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		plan := newPlan(1, d)
		if !slices.Equal(plan, newPlan(1, d)) || slices.Equal(plan, newPlan(2, d)) {
			t.Error("want a plan for each seed")
		}
		count := map[deedKind]int{}
		for _, deed := range plan {
			count[deed.kind]++
			if deed.at > d || deed.kind == doPause && deed.lasts <= lease {
				t.Errorf("got %+v, want it within %v and a pause longer than a lease", deed, d)
			}
		}
		messages := int(d.Seconds() * perSecond)
		f := figures{
			messages: messages, skipped: messages, kills: count[doKill], pauses: count[doPause],
			leaves: count[doLeave] + fleetSize, restarts: count[doRestart], hangs: count[doHang],
			cuts: count[doCut],
		}
		if missing := f.missing(d, perSecond); len(missing) > 0 {
			t.Errorf("%v: %v", d, missing)
		}
	}
}

func TestNoPlanHangsAServerThatIsDead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		var back time.Duration
		for _, deed := range newPlan(seed, 10*time.Minute) {
			switch {
			case deed.kind == doRestart:
				back = deed.at + deed.lasts + revival
			case deed.kind == doHang && deed.at < back:
				t.Fatalf("seed %d: got a hang %v before the server is back", seed, back-deed.at)
			}
		}
	}
}

func TestChaosKillsNoSleeperBeforeItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	awake, dozing := &process{number: 1}, &process{number: 2, asleep: time.Now()}
	slept := &process{number: 3, asleep: time.Now().Add(-lease - time.Millisecond)}
	f := fleet{members: []*process{awake, dozing, slept}}
	if got, want := f.mortal(), []*process{awake, slept}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
