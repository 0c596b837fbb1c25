package listener_test

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// flow sends one new key after another while the test goes on.
type flow struct {
	scene *scene
	name  string // the keys begin with it
	end   context.CancelFunc
	over  chan struct{} // closed when nothing more is sent

	mu   sync.Mutex
	keys []string // guarded by mu
}

func (s *scene) startFlow(name string, every time.Duration) *flow {
	ctx, end := context.WithCancel(s.t.Context())
	f := &flow{scene: s, name: name, end: end, over: make(chan struct{})}
	go f.run(ctx, every)
	s.t.Cleanup(func() { f.stop() })
	return f
}

func (f *flow) run(ctx context.Context, every time.Duration) {
	defer close(f.over)
	for pace := time.Tick(every); ; {
		select {
		case <-pace:
		case <-ctx.Done():
			return
		}
		id := fmt.Sprintf("%s-%d", f.name, f.sent())
		f.scene.send(id)
		f.mu.Lock()
		f.keys = append(f.keys, id)
		f.mu.Unlock()
	}
}

func (f *flow) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.keys)
}

// more waits until n more keys are sent.
func (f *flow) more(n int) {
	f.scene.t.Helper()
	n += f.sent()
	eventually(f.scene.t, "messages flow", func() bool { return f.sent() >= n })
}

// stop ends the flow and returns all its keys.
func (f *flow) stop() []string {
	f.end()
	<-f.over
	return f.keys
}

// work waits until each of the members has begun some more runs.
func (s *scene) work(members ...*member) {
	s.t.Helper()
	for _, m := range members {
		before, _ := s.runsOf(m)
		eventually(s.t, m.name+" works", func() bool {
			now, _ := s.runsOf(m)
			return now >= before+20
		})
	}
}

// catchUp waits until every key has a finished run, and for what the broker
// delivers twice of its own accord: a queue is in order, so that what was sent
// last is delivered last.
func (s *scene) catchUp(keys []string, queues int) {
	s.t.Helper()
	s.allRun(keys)
	last := ids("after-"+keys[len(keys)-1], queues) // the producer takes one queue after another
	s.send(last...)
	s.allRun(last)
}

func (s *scene) allRun(keys []string) {
	s.t.Helper()
	eventually(s.t, "no key is left", func() bool {
		lost, _ := s.tally(keys)
		return lost == 0
	})
}
