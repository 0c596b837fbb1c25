//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// binary is the program under test, as a user builds it.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "dedupctl-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "dedupctl")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "go build:", err)
			return 1
		}
		return m.Run()
	}())
}

// ample is longer than anything here takes.
const ample = 60 * time.Second

// process is a running dedupctl.
type process struct {
	*exec.Cmd
	stdout, stderr buffer
	ended          chan struct{}
}

// call starts dedupctl. A process that is left at the end of the test is killed.
func call(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := prepare(args)
	p.Env = append(os.Environ(), env...)
	p.start(t)
	return p
}

func prepare(args []string) *process {
	p := &process{Cmd: exec.Command(binary, args...), ended: make(chan struct{})}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = time.Second // if commands outlive it, which is a failure, they hold its output
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // the exit code is read from the state
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has ended already, normally
		<-p.ended
		if t.Failed() {
			t.Logf("dedupctl %s\nstdout:\n%s\nstderr:\n%s", strings.Join(p.Args[1:], " "), &p.stdout, &p.stderr)
		}
	})
}

// exits waits for the end and wants it to have this code.
func (p *process) exits(t *testing.T, code int) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(ample):
		t.Fatal("dedupctl does not end")
	}
	if got := p.ProcessState.ExitCode(); got != code {
		t.Fatalf("got %v, want exit code %d", p.ProcessState, code)
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// consuming is what a consumer logs when it has started.
const consuming = "dedupctl: consuming"

// says waits until standard error holds the text.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("dedupctl says %q", text), func() bool {
		select {
		case <-p.ended:
			if !strings.Contains(p.stderr.String(), text) {
				t.Fatalf("dedupctl has ended: %v", p.ProcessState)
			}
		default:
		}
		return strings.Contains(p.stderr.String(), text)
	})
}

// eventually waits until a condition holds, looking at it often.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > ample {
			t.Fatalf("not in %v: %s", ample, what)
		}
	}
}

type buffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// scene is a topic of its own, a configuration for it, and a folder that
// commands write to.
type scene struct {
	dir, file, topic, prefix string
}

// hasty is a lease for tests that wait for its end, and what must be shorter.
var hasty = []string{"LEASE", "8s", "READ", "600ms"}

// newScene makes a scene; changes are pairs of old and new text of its file.
func newScene(t *testing.T, changes ...string) scene {
	t.Helper()
	namesrv := storetest.Server(t, "DEDUP_TEST_NAMESRV")
	own := "ctl-" + store.NewToken().String()[:12]
	s := scene{dir: t.TempDir(), topic: own, prefix: own + ":"}
	text := strings.NewReplacer(append(changes,
		"NAMESRV", namesrv, "REDIS", storetest.Server(t, "DEDUP_TEST_REDIS"), "OWN", own,
		"READ", "1s", "LEASE", "15s",
	)...).Replace(sceneFile)
	s.file = s.write(t, "consumer.yaml", text)
	err := listener.CreateTopic(t.Context(), own, 2, []string{namesrv}, listener.TopicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forget(t, s.prefix) })
	return s
}

const sceneFile = `
rocketmq:
  name_servers: [NAMESRV]
  group: OWN
  consume_from: first
  delay_levels: [1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s, 10s, 11s, 12s, 13s, 14s, 15s, 16s, 17s, 18s]
store: {redis: {addrs: [REDIS], prefix: "OWN:", read_timeout: READ}}
defaults: {lease: LEASE, max_consume: 1m}
drain_timeout: 20s
topics: [{name: OWN, key: keys}]
`

func (s scene) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// read returns what commands wrote so far.
func (s scene) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name)) // it may not be there yet
	return string(text)
}

// consume starts a consumer and waits until it has started. The command runs in
// the scene's folder.
func (s scene) consume(t *testing.T, line string, flags ...string) *process {
	t.Helper()
	p := call(t, nil, append([]string{"consume", "-config", s.file, "-exec", "cd '" + s.dir + "'; " + line}, flags...)...)
	p.says(t, consuming)
	return p
}

func (s scene) produce(t *testing.T, key string, flags ...string) string {
	t.Helper()
	p := call(t, nil, append([]string{"produce", "-config", s.file, "-topic", s.topic, "-key", key}, flags...)...)
	p.exits(t, 0)
	return p.stdout.String()
}

// gone waits until no process with this id runs. One that is dead and only
// waits to be noticed by its parent counts as gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.HasPrefix(state, "Z")
	})
}
