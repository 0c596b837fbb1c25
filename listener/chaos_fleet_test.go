package listener_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// fleet are consumers of one group, each a process of its own. Its methods are
// called by one goroutine.
type fleet struct {
	t       testing.TB
	place   place
	path    string // of the diary
	diary   diary
	members []*process // that neither died nor were told to leave
	started int
	leaving sync.WaitGroup
}

// process is one consumer.
type process struct {
	*exec.Cmd
	number int
	asleep time.Time     // since when it has been frozen; zero when it is not
	stdin  io.Closer     // its end tells the consumer to leave
	ended  chan struct{} // closed when it is gone
	err    error         // how it ended, once it has

	mu     sync.Mutex
	wanted bool // it is to end; guarded by mu
}

func newFleet(t testing.TB, p place, size int) *fleet {
	t.Helper()
	f := &fleet{t: t, place: p, path: t.TempDir() + "/diary"}
	var err error
	if f.diary, err = openDiary(f.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for len(f.members) > 0 {
			f.kill(f.members[0])
		}
		f.leaving.Wait()
		f.diary.file.Close()
	})
	for range size {
		f.join()
	}
	return f
}

func (f *fleet) tell(kind byte, process int) { f.diary.write(note{kind: kind, process: process}) }

// join adds a consumer.
func (f *fleet) join() {
	f.t.Helper()
	f.started++
	p := &process{Cmd: exec.Command(os.Args[0]), number: f.started, ended: make(chan struct{})}
	task, err := json.Marshal(sailorTask{f.place, f.path, p.number})
	if err == nil {
		p.Env = append(os.Environ(), sailorEnv+"="+string(task))
		p.Stderr = os.Stderr
		p.stdin, err = p.StdinPipe()
	}
	f.tell(joined, p.number)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.members = append(f.members, p)
	go func() {
		defer close(p.ended)
		if p.err = p.Wait(); !p.isWanted() {
			f.t.Errorf("process %d has ended by itself: %v", p.number, p.err)
		}
	}()
}

func (p *process) isWanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

// dismiss takes p out of the fleet before it ends.
func (f *fleet) dismiss(p *process) {
	p.mu.Lock()
	p.wanted = true
	p.mu.Unlock()
	f.members = slices.DeleteFunc(f.members, func(other *process) bool { return other == p })
}

// kill is kill -9.
func (f *fleet) kill(p *process) {
	f.dismiss(p)
	_ = p.Process.Kill() // an error means that it has ended, which is told elsewhere
	<-p.ended
	f.tell(killed, p.number)
}

// drainLimit is how long a consumer may take to leave: its callbacks end, and
// are recorded, perhaps after an outage of the store.
const drainLimit = 30 * time.Second

// leave tells p to drain and leave, and does not wait for it.
func (f *fleet) leave(p *process) {
	f.dismiss(p)
	p.stdin.Close() // it was open
	f.leaving.Go(func() {
		over := time.NewTimer(drainLimit + 10*time.Second)
		defer over.Stop()
		select {
		case <-p.ended:
		case <-over.C:
			f.t.Errorf("process %d did not leave within %v", p.number, drainLimit)
			_ = p.Process.Kill()
			<-p.ended
		}
		if p.err != nil {
			f.t.Errorf("process %d leaves: %v", p.number, p.err)
		}
		f.tell(left, p.number)
	})
}

// freeze stops p, and returns what lets it go on.
func (f *fleet) freeze(p *process) (thaw func()) {
	f.tell(frozen, p.number)
	p.asleep = time.Now()
	if err := testserver.Freeze(p.Process); err != nil {
		f.t.Errorf("freeze process %d: %v", p.number, err)
	}
	return func() {
		if p.isWanted() {
			return // it was killed in its sleep
		}
		p.asleep = time.Time{}
		f.tell(thawed, p.number)
		if err := testserver.Thaw(p.Process); err != nil {
			f.t.Errorf("thaw process %d: %v", p.number, err)
		}
	}
}

// awake are the members that are not frozen.
func (f *fleet) awake() []*process {
	return slices.DeleteFunc(slices.Clone(f.members), func(p *process) bool { return !p.asleep.IsZero() })
}

// mortal are the members that chaos may kill. A sleeping one is not before it has
// slept for longer than a lease: each pause is to be one that others could notice.
func (f *fleet) mortal() []*process {
	return slices.DeleteFunc(slices.Clone(f.members), func(p *process) bool {
		return !p.asleep.IsZero() && time.Since(p.asleep) <= lease
	})
}
