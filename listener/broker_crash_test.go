package listener_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// victimTask is the environment variable that makes the test binary a consumer
// to be killed: its place as JSON.
const victimTask = "LISTENER_TEST_VICTIM"

// beVictim prints the body of each message whose callback it has begun, and
// never returns from it. It ends with its standard input, should nobody kill it.
func beVictim(task string) {
	var p place
	err := json.Unmarshal([]byte(task), &p)
	if err == nil {
		err = p.joinAndHang()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
	os.Exit(0)
}

func (p place) joinAndHang() error {
	records, err := p.openRecords()
	if err != nil {
		return err
	}
	_, err = newMember(p, "victim", records, listener.Options{}, func(m *member) error {
		return m.Subscribe(m.client, p.Topic, consumer.MessageSelector{},
			func(_ context.Context, m *primitive.MessageExt) error {
				fmt.Println(string(m.Body))
				select {}
			})
	})
	return err
}

// victim is the other process.
type victim struct {
	*exec.Cmd
	mu    sync.Mutex
	begun []string // guarded by mu
	ended chan struct{}
}

func (s *scene) startVictim() *victim {
	s.t.Helper()
	task, err := json.Marshal(s.place)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.startProcess(victimTask + "=" + string(task))
}

// startProcess starts the test binary with one variable more.
func (s *scene) startProcess(variable string) *victim {
	s.t.Helper()
	v := &victim{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	v.Env = append(os.Environ(), variable)
	v.Stderr = os.Stderr
	out, err := v.StdoutPipe()
	if err == nil {
		_, err = v.StdinPipe()
	}
	if err == nil {
		err = v.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	go v.read(out)
	s.t.Cleanup(v.kill)
	return v
}

func (v *victim) read(out io.Reader) {
	defer close(v.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		v.mu.Lock()
		v.begun = append(v.begun, lines.Text())
		v.mu.Unlock()
	}
}

// running are the bodies whose callbacks it has begun.
func (v *victim) running() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.begun...)
}

// kill is kill -9, once.
func (v *victim) kill() {
	_ = v.Process.Kill() // an error means that it was killed before
	<-v.ended
	_ = v.Wait()
}

// It kills a process, which does not go with a broker inside the test's own: the
// record must be with a server, and the real broker notices the death.
func TestBrokerAKilledConsumersMessagesRunElsewhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, realBroker, 4)
	v := s.startVictim()
	s.join(listener.Options{}, succeed)
	var keys []string
	eventually(t, "the victim is in some callbacks", func() bool {
		keys = append(keys, fmt.Sprintf("order-%d", len(keys)))
		s.send(keys[len(keys)-1])
		return len(v.running()) >= 3
	})
	v.kill()
	killed := time.Now()
	eventually(t, "every message has run", func() bool { return s.count(outcome(dedup.Ran)) >= len(keys) })
	s.wantRuns(t, 1, keys...)
	for _, id := range v.running() {
		later := slices.DeleteFunc(s.deliveries(id), func(d sighting) bool { return d.at.Before(killed) })
		if len(later) > 2 {
			t.Errorf("%s was delivered %d times after the kill, want once more at most than for what was left of its lease",
				id, len(later))
		}
		second := func(e dedup.Event) bool { return e.Key.ID == id && e.Attempt == 2 }
		if s.count(second) != 1 {
			t.Errorf("%s: the run of the killed consumer was not counted as an attempt", id)
		}
	}
}
