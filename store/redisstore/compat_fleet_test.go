package redisstore_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// fleet is some nodes of the original and some of ours that are given copies of
// one message, and the book of what each was told. The nodes take turns; their
// leases end in real time.
type fleet struct {
	*tally
	t      *testing.T
	seed   uint64
	failed bool
	random *rand.Rand
	client *redis.Client
	store  *redisstore.Store
	key    store.Key
	name   string
	nodes  []node
	book   book
}

// node takes its next step with every turn.
type node interface{ turn(f *fleet) }

// book is what a grant must not contradict. Times are the ends that the nodes
// may rely on: counted from when their calls were sent.
type book struct {
	ours, theirs time.Time // ends of the claims
	theirsEnd    time.Duration
	exposed      bool // the original deleted what showed our claim, or our done, to its nodes
	done, parked bool
	doneByUs     bool // or parked: remembered in the companion, whatever the original deletes
}

// As in real fleets our leases are shorter than the original's claims.
const (
	fleetLease   = 45 * time.Millisecond
	fleetHorizon = 10 * time.Second
	fleetExpire  = 70 * time.Millisecond // of the original's claims
	tick         = 2 * time.Millisecond  // what rounding may take from an end
)

// encounters are what the fleets must have come across.
var encounters = []string{
	"our claim", "our take-over", "our busy", "our done", "our release", "our renewal", "our complete", "our park",
	"our late complete", "our claim lost", "our step met their claim", "their claim", "their take-over", "their done",
	"their busy", "their success", "their failure", "their late success", "their late failure",
}

// Fleets go out until they have come across everything: on a slow machine most
// leases have ended before the next turn. The fewer go out at once, the quicker
// their turns.
func TestAMixedFleetRunsAKeyOnce(t *testing.T) {
	t.Parallel()
	client := private(t)
	s, all := openCompat(t, client), &tally{counts: map[string]int{}}
	const enough, atOnce = 100, 25
	seed := uint64(0)
	for began := time.Now(); seed < enough || all.missing() != nil && time.Since(began) < ample; {
		var fleets sync.WaitGroup
		for range atOnce {
			f := &fleet{
				tally: all, t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 7)),
				client: client, store: s, key: newKey(),
			}
			f.name = compatName(f.key)
			for range 3 {
				f.nodes = append(f.nodes, &theirNode{original: original{client, fleetExpire, time.Minute}}, &ourNode{})
			}
			fleets.Go(f.run)
			seed++
		}
		fleets.Wait()
	}
	if missing := all.missing(); missing != nil {
		t.Errorf("never happened: %v; happened: %v", missing, all.counts)
	}
	t.Log(seed, "fleets:", all.counts)
}

// tally counts what the schedules have come across.
type tally struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu
}

func (y *tally) happened(what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[what]++
}

// missing are the encounters that have not happened yet.
func (y *tally) missing() (none []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, what := range encounters {
		if y.counts[what] == 0 {
			none = append(none, what)
		}
	}
	return none
}

func (f *fleet) run() {
	for range 60 {
		f.nodes[f.random.IntN(len(f.nodes))].turn(f)
		f.wantSound()
		if f.random.IntN(3) == 0 {
			time.Sleep(time.Duration(f.random.Int64N(int64(fleetLease))))
		}
		if f.failed {
			return
		}
	}
	time.Sleep(max(fleetLease, fleetExpire) + tick)
	want := store.Claimed
	switch {
	case f.book.done:
		want = store.Done
	case f.book.parked:
		want = store.Parked
	}
	if v, err := f.store.Claim(f.t.Context(), request(f.key, store.NewToken())); err != nil || v.State != want {
		f.errorf("when all leases have ended: got %+v, %v, want %v", v, err, want)
	}
}

func (f *fleet) errorf(format string, args ...any) {
	f.failed = true
	f.t.Errorf("seed %d: "+format, append([]any{f.seed}, args...)...)
}

// live reports whether a claim that ends then is still running for sure.
func live(end time.Time) bool { return time.Now().Before(end.Add(-tick)) }

// wantSound wants the main key to be what the original knows, or nothing, and
// both keys to have an expiry.
func (f *fleet) wantSound() {
	word, err := f.client.Get(f.t.Context(), f.name).Result()
	if err != nil && !errors.Is(err, redis.Nil) || word != "" && word != "CONSUMING" && word != "CONSUMED" {
		f.errorf("main key: got %q, %v", word, err)
	}
	for _, name := range []string{f.name, companionName(f.key)} {
		if f.client.PTTL(f.t.Context(), name).Val() == -1 {
			f.errorf("%q has no expiry", name)
		}
	}
}
