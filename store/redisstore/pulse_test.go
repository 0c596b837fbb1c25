package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// doubts sends a pulse that makes use of everything.
func doubts(t *testing.T, s *redisstore.Store) []store.Beat {
	t.Helper()
	p := store.Pulse{Application: "a:b{c}", Node: store.NewToken(), Number: 1, Doubt: true}
	beats, err := s.Pulse(within(t, ample), p)
	if err != nil {
		t.Errorf("pulse: %v", err)
	}
	return beats
}

func TestPulsesEndByThemselvesAndAreNoRecords(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		open   func(testing.TB, redis.UniversalClient) *redisstore.Store
		prefix string
	}{
		"native": {open, prefix},
		"shared": {func(t testing.TB, c redis.UniversalClient) *redisstore.Store { return openCompat(t, c) }, "dedup-pulse:"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := private(t)
			doubts(t, c.open(t, client))
			lives := map[time.Duration]int{}
			for _, name := range client.Keys(t.Context(), "*").Val() {
				tag, _, _ := strings.Cut(strings.TrimPrefix(name, c.prefix), "}")
				if !strings.HasPrefix(name, c.prefix+"{") || strings.Contains(tag, ":") {
					t.Errorf("%s could be the name of a record", name)
				}
				lives[client.PTTL(t.Context(), name).Val().Round(time.Minute)]++
			}
			if len(lives) != 2 || lives[store.PulseKeep] != 1 || lives[store.DoubtKeep] != 1 {
				t.Errorf("got names that live for %v, want one for %v and one for %v", lives, store.PulseKeep, store.DoubtKeep)
			}
		})
	}
}

func TestAMasterThatDoesNotAnswerIsLeftOut(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	s := open(t, connectCluster(t, c.Addrs()[0], nil))
	p := store.Pulse{Application: "app", Node: store.NewToken(), Number: 1}
	if beats, err := s.Pulse(within(t, ample), p); err != nil || len(beats) != 2 || beats[0].Run == beats[1].Run {
		t.Fatalf("got %+v, %v, want the beats of two masters", beats, err)
	}
	c.Masters[1].Pause()
	defer c.Masters[1].Resume()
	p.Number = 2
	beats, err := s.Pulse(within(t, 500*time.Millisecond), p)
	if err == nil || store.ClassOf(err) == store.Permanent || !strings.Contains(err.Error(), c.Masters[1].Addr()) {
		t.Errorf("got %v, want an error that names the silent master", err)
	}
	if len(beats) != 1 || beats[0].Server != c.Masters[0].Addr() || beats[0].Before != 1 {
		t.Errorf("got %+v, want the beat of the other one", beats)
	}
}

func TestAPulseFollowsASlotThatIsMoving(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	m := newMover(t, c)
	client := connectCluster(t, c.Addrs()[0], nil)
	s := open(t, client)
	p := store.Pulse{Application: "app", Node: store.NewToken(), Number: 1}
	pulse := func() {
		t.Helper()
		beats, err := s.Pulse(within(t, ample), p)
		if err != nil || len(beats) != 2 || beats[0].Before != p.Number-1 || beats[0].Server != c.Masters[0].Addr() {
			t.Errorf("got %+v, %v, want both masters, the first to remember %d", beats, err, p.Number-1)
		}
		p.Number++
	}
	pulse()
	const slot = 0 // the first master's pulses are there
	m.set(1, slot, "importing", m.ids[0])
	m.set(0, slot, "migrating", m.ids[1])
	for m.moveKeys(0, 1, slot) {
	}
	pulse()
	pulse()
}
