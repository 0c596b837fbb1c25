package dedup_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// servers are a store of several parts that answers pulses as it is told to.
type servers struct {
	*memstore.Store
	mu    sync.Mutex // guards what follows
	parts map[string]*server
	doubt time.Time               // the latest, of all parts
	mute  func(number int64) bool // the answer to a pulse is lost; nil: none is
}

type server struct {
	run     string
	evicted int64
	clock   time.Duration // ahead of ours
	gone    bool
	numbers map[store.Token]int64
}

func (s *servers) Pulse(_ context.Context, p store.Pulse) (beats []store.Beat, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := p.Validate(); err != nil {
		return nil, err
	}
	doubt := time.Duration(-1)
	if p.Doubt {
		s.doubt = time.Now()
	}
	if !s.doubt.IsZero() {
		doubt = time.Since(s.doubt)
	}
	for _, name := range slices.Sorted(maps.Keys(s.parts)) {
		at := s.parts[name]
		if at.gone {
			err = errBoom
			continue
		}
		beats = append(beats, store.Beat{
			Part: name, Server: "host-" + at.run, Before: at.numbers[p.Node], Run: at.run, Evicted: at.evicted,
			Time: time.Now().Add(at.clock), Doubt: doubt,
		})
		at.numbers[p.Node] = p.Number
	}
	if s.mute != nil && s.mute(p.Number) {
		return nil, errBoom
	}
	return beats, err
}

// on does something to the part called name.
func (s *servers) on(name string, do func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.parts[name])
}

// fails has the answers be lost to the pulses that mute names.
func (s *servers) fails(mute func(number int64) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
}

func newServer(run string) *server { return &server{run: run, numbers: map[store.Token]int64{}} }

// post is a guard that watches servers, and what it saw.
type post struct {
	*dedup.Guard
	*servers
	log    lines
	losses []dedup.Loss
	end    func()
}

// watching is a guard that has watched the parts for three seconds. It must run
// in a bubble.
func watching(t *testing.T, parts map[string]*server) *post {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &post{servers: &servers{Store: mem, parts: parts}}
	p.Guard = watchedBy(t, p.servers, p, &p.log)
	p.end = watch(t, p.Guard)
	time.Sleep(100 * time.Millisecond) // so that nothing happens at the time of a pulse
	if got := p.after(3 * time.Second); len(got) != 0 || p.Healthy() != nil {
		t.Fatalf("at the start: got %v and %v, want no loss", got, p.Healthy())
	}
	return p
}

func watchedBy(t *testing.T, s store.Store, o dedup.Observer, log *lines) *dedup.Guard {
	t.Helper()
	g, err := dedup.New(s, dedup.Options{Observer: dedup.Observers(nil, o), Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func one() map[string]*server { return map[string]*server{"": newServer("a")} }

func two() map[string]*server { return map[string]*server{"0": newServer("a"), "8192": newServer("b")} }

// less takes the latest n pulses from a server.
func less(s *server, n int64) {
	for node := range s.numbers {
		s.numbers[node] -= n
	}
}
