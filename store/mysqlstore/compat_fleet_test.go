package mysqlstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// granted counts whom a race let run: the original, without a claim, or us.
type granted struct {
	mu                        sync.Mutex // guards what follows
	theirs, unprotected, ours int
}

func (g *granted) race(t *testing.T, o original, s *mysqlstore.Store, k store.Key, each int) {
	var all sync.WaitGroup
	for range each {
		all.Go(func() {
			got, _ := o.meets(t.Context(), k) // an error is part of what it meets
			g.mu.Lock()
			defer g.mu.Unlock()
			switch got {
			case runs:
				g.theirs++
			case runsUnprotected:
				g.unprotected++
			}
		})
		all.Go(func() {
			v, err := s.Claim(t.Context(), request(k, store.NewToken()))
			if err != nil {
				t.Error(err)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if v.State == store.Claimed {
				g.ours++
			}
		})
	}
	all.Wait()
}

// The original takes a deadlock of its INSERT for success and runs then. But for
// that exactly one is granted the key.
func TestOfConcurrentClaimsByBothExactlyOneIsGranted(t *testing.T) {
	t.Parallel()
	const skew = 10 * time.Millisecond
	before := map[string]func(*testing.T, original, *mysqlstore.Store, store.Key){
		"free": func(*testing.T, original, *mysqlstore.Store, store.Key) {},
		"released": func(t *testing.T, _ original, s *mysqlstore.Store, k store.Key) {
			a := store.NewToken()
			claims(t, s, request(k, a), 1)
			releases(t, s, k, a)
		},
		"expired of theirs": func(t *testing.T, o original, _ *mysqlstore.Store, k store.Key) {
			o.expire = -time.Second
			o.wantMeets(t, k, runs)
		},
		"expired of ours": func(t *testing.T, o original, s *mysqlstore.Store, k store.Key) {
			claims(t, s, request(k, store.NewToken()), 1)
			must(t, o.db, "UPDATE t_rocketmq_dedup SET expire_time = expire_time - 70000 WHERE msg_uniq_key = ?", k.ID)
		},
		"no longer done": func(t *testing.T, o original, s *mysqlstore.Store, k store.Key) {
			completes(t, s, k, store.NewToken(), time.Millisecond, store.Recreated)
			o.expire = -time.Second
		},
	}
	onServers(t, func(t *testing.T, address string) {
		for what, prepare := range before {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				p, _, s := shared(t, address, skew)
				o := newOriginal(p.open(t, "interpolateParams=true"))
				total := granted{}
				for i := range 20 {
					k := goldenKey("", what+strconv.Itoa(i))
					prepare(t, o, s, k)
					var g granted
					g.race(t, o, s, k, 4)
					protected := g.theirs + g.ours
					if protected > 1 || protected == 0 && g.unprotected == 0 {
						t.Errorf("round %d: granted to %d of theirs and %d of ours, want one of all", i, g.theirs, g.ours)
					}
					total.theirs, total.ours = total.theirs+g.theirs, total.ours+g.ours
					total.unprotected += g.unprotected
				}
				t.Logf("granted to theirs %d, to ours %d; run without a claim by theirs: %d",
					total.theirs, total.ours, total.unprotected)
			})
		}
	})
}

// ledger is what the nodes of a fleet have run, by key.
type ledger struct {
	t  *testing.T
	mu sync.Mutex // guards what follows
	// spoilt keys are those that the original ran without a claim: its failure
	// then deletes whatever row there is.
	running map[string]int
	done    map[string]bool
	spoilt  map[string]bool
	counts  map[string]int
}

func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

// runs is a callback, which says whether it succeeded.
func (l *ledger) runs(who, id string, work func()) {
	l.mu.Lock()
	l.running[id]++
	if !l.spoilt[id] && (l.running[id] > 1 || l.done[id]) {
		l.t.Errorf("%s run %s, which runs %d times, done: %v", who, id, l.running[id], l.done[id])
	}
	l.mu.Unlock()
	work()
}

// ends is the end of a callback, before anything is recorded.
func (l *ledger) ends(id string, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[id]--
	l.done[id] = l.done[id] || done
}

func (l *ledger) spoil(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoilt[id] = true
}

// Nodes of the original and of ours get copies of one set of messages, fail some
// and succeed with the rest.
func TestAMixedFleetRunsAKeyOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		p, _, s := shared(t, address, 0)
		o := newOriginal(p.open(t, ""))
		l := &ledger{t: t, running: map[string]int{}, done: map[string]bool{}, spoilt: map[string]bool{},
			counts: map[string]int{}}
		var fleet sync.WaitGroup
		for node := range uint64(4) {
			fleet.Go(func() { l.theirNode(o, rand.New(rand.NewPCG(node, 1))) })
			fleet.Go(func() { l.ourNode(o, s, rand.New(rand.NewPCG(node, 2))) })
		}
		fleet.Wait()
		for _, what := range []string{"their success", "their failure", "their skip", "their send back",
			"our success", "our failure", "our skip", "our send back"} {
			if l.counts[what] == 0 {
				t.Errorf("never happened: %s; happened: %v", what, l.counts)
			}
		}
		t.Logf("%v; keys that the original spoilt: %d of %d", l.counts, len(l.spoilt), fleetKeys)
	})
}

const fleetKeys, fleetTurns = 40, 300

func (l *ledger) theirNode(o original, random *rand.Rand) {
	ctx := l.t.Context()
	for range fleetTurns {
		k := goldenKey("", strconv.Itoa(random.IntN(fleetKeys)))
		got, _ := o.meets(ctx, k) // an error is part of what it meets
		switch got {
		case skips:
			l.count("their skip")
			continue
		case sendsBack:
			l.count("their send back")
			continue
		case runsUnprotected:
			l.count("their run without a claim")
			l.spoil(k.ID)
		}
		l.callback(ctx, "they", o, k, random, func(done bool) error {
			if done {
				l.count("their success")
				return o.succeeds(ctx, k)
			}
			l.count("their failure")
			return o.fails(ctx, k)
		})
	}
}

func (l *ledger) ourNode(o original, s *mysqlstore.Store, random *rand.Rand) {
	ctx := l.t.Context()
	for range fleetTurns {
		k, a := goldenKey("", strconv.Itoa(random.IntN(fleetKeys))), store.NewToken()
		v, err := s.Claim(ctx, request(k, a))
		switch {
		case err != nil:
			l.t.Error(err)
		case v.State == store.Done:
			l.count("our skip")
		case v.State == store.Busy:
			l.count("our send back")
		case v.State == store.Claimed:
			l.callback(ctx, "we", o, k, random, func(done bool) error {
				if done {
					l.count("our success")
					_, err := s.Complete(ctx, k, a, time.Hour)
					return err
				}
				l.count("our failure")
				return s.Release(ctx, k, a, true)
			})
		default:
			l.t.Errorf("claim: got %+v", v)
		}
	}
}

// callback runs for about a round trip, fails most times, and settles.
func (l *ledger) callback(ctx context.Context, who string, o original, k store.Key, random *rand.Rand,
	settle func(done bool) error) {
	l.runs(who, k.ID, func() {
		if err := o.db.PingContext(ctx); err != nil {
			l.t.Error(err)
		}
	})
	done := random.IntN(12) == 0
	l.ends(k.ID, done)
	switch err := settle(done); {
	case err == nil:
	case who == "they": // such as a deadlock: its claim stays, and nobody runs the key
		l.count("their settle failed")
	case !errors.Is(err, store.ErrNotOwner) || !l.isSpoilt(k.ID):
		l.t.Errorf("we settle: %v", err)
	}
}

func (l *ledger) isSpoilt(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spoilt[id]
}
