package dedup

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// simSeeds is how many seeds TestRandomSchedules runs: those of DEDUP_TEST_SEEDS,
// else as many as the gate has time for.
func simSeeds(t *testing.T) uint64 {
	text := cmp.Or(os.Getenv("DEDUP_TEST_SEEDS"), "2000")
	seeds, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seeds == 0 {
		t.Fatalf("DEDUP_TEST_SEEDS is %q, want a number of seeds", text)
	}
	return seeds
}

func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	began, seeds := time.Now(), simSeeds(t)
	tally, broken := simulate(seeds, simBug{})
	t.Logf("figure: %d seeds in %.1f s: %v", seeds, time.Since(began).Seconds(), tally)
	if broken != nil {
		t.Fatalf("seed %d: %s\nthe end of its log, which DEDUP_TEST_SEED=%d shows as a whole:\n%s",
			broken.seed, broken.why, broken.seed, tail(replay(broken.seed, simBug{}), 60))
	}
	for _, what := range simMustHappen {
		if seeds >= 2000 && tally[what] == 0 {
			t.Errorf("%q never happened: the simulation has lost something", what)
		}
	}
}

// simMustHappen is what the seeds have to bring about, among it every reason for
// which an invariant is relaxed.
var simMustHappen = []string{
	"crashes", "pauses", "drains", "deliveries held", "successes journaled", "keys parked", "messages buried",
	"records lost", "clock jumps",
	"overlap by cancelled", "overlap by unprotected", "overlap by pause",
	"overlap by loss", "overlap by failover", "overlap by jump",
	"rerun by loss", "rerun by failover", "rerun by jump",
	Ran.String(), Skipped.String(), Deferred.String(), Failed.String(),
}

// broken is a seed that breaks an invariant.
type broken struct {
	seed uint64
	why  string
}

// simulate runs seeds on all processors and returns what happened in all, and
// the lowest seed that breaks an invariant.
func simulate(seeds uint64, bug simBug) (simTally, *broken) {
	var (
		next  atomic.Uint64
		mu    sync.Mutex // guards what follows
		tally = simTally{}
		worst *broken
		wg    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			own := simTally{}
			for seed := next.Add(1) - 1; seed < seeds; seed = next.Add(1) - 1 {
				s := newSim(seed, bug, nil)
				s.run()
				own.add(s.tally)
				if s.violation == "" {
					continue
				}
				next.Store(seeds) // lower ones are under way
				mu.Lock()
				if worst == nil || seed < worst.seed {
					worst = &broken{seed, s.violation}
				}
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			tally.add(own)
		})
	}
	wg.Wait()
	return tally, worst
}

// replay returns the whole log of a seed.
func replay(seed uint64, bug simBug) []byte {
	var log bytes.Buffer
	newSim(seed, bug, &log).run()
	return log.Bytes()
}

func tail(log []byte, lines int) string {
	all := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func TestASeedReplaysExactly(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("DEDUP_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("DEDUP_TEST_SEED is %q, want a seed", text)
		}
		t.Logf("seed %d:\n%s", seed, replay(seed, simBug{}))
	}
	for seed := range uint64(100) {
		first, second := replay(seed, simBug{}), replay(seed, simBug{})
		if len(first) == 0 || !bytes.Equal(first, second) {
			t.Fatalf("seed %d: two logs of %d and %d bytes, want them equal", seed, len(first), len(second))
		}
	}
}

func (t simTally) add(other simTally) {
	for what, n := range other {
		t[what] += n
	}
}

// String lists the counts by name.
func (t simTally) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, t[what]))
	}
	return strings.Join(parts, ", ")
}
