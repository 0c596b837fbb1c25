package testserver

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// RedisServer is a private redis-server process. Its methods fail the test when
// the process does not obey; they are not safe for concurrent use.
type RedisServer struct {
	t    testing.TB
	port int
	args []string
	proc *process // nil after Kill
}

// Redis starts a redis-server on a free loopback port with a folder of its own,
// and stops it when the test ends. It keeps nothing on disk unless args say so.
// args are redis-server options such as "--appendonly", "yes"; with
// "--tls-cert-file" among them the port speaks TLS only.
//
// Without redis-server in PATH it skips the test and says so; with
// DEDUP_TEST_STRICT=1 it fails it instead.
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		const hint = "redis-server is not in PATH; install the package redis-server or run scripts/test.sh"
		if os.Getenv("DEDUP_TEST_STRICT") == "1" {
			t.Fatalf("NO SERVER and DEDUP_TEST_STRICT=1: %s", hint)
		}
		t.Skipf("SKIPPED, NO SERVER: %s", hint)
	}
	base := []string{"--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "no"}
	s := &RedisServer{t: t, args: append(base, args...)}
	t.Cleanup(s.stop)
	for range 5 { // another process may take the port first
		s.port = freePort(t)
		if s.proc = start(t, s.command()); s.proc.ready() {
			return s
		}
	}
	t.Fatalf("testserver: redis-server did not start:\n%s", s.proc.output())
	return nil
}

func (s *RedisServer) command() []string {
	port := strconv.Itoa(s.port)
	if slices.Contains(s.args, "--tls-cert-file") {
		return append([]string{"--port", "0", "--tls-port", port}, s.args...)
	}
	return append([]string{"--port", port}, s.args...)
}

// Addr is the server's host:port. It stays the same over Restart.
func (s *RedisServer) Addr() string { return loopback(s.port) }

// Kill ends the process at once, as kill -9 does, and returns when it is gone.
func (s *RedisServer) Kill() {
	s.t.Helper()
	s.stop()
}

// Restart kills the server if it runs and starts it again on the same port and
// folder. It returns when the server has loaded its data.
func (s *RedisServer) Restart() {
	s.t.Helper()
	s.stop()
	s.proc = start(s.t, s.command())
	if !s.proc.ready() {
		s.t.Fatalf("testserver: redis-server did not start again:\n%s", s.proc.output())
	}
}

// Pause freezes the process: connections stay open and nothing is answered.
func (s *RedisServer) Pause() {
	s.t.Helper()
	s.signal(sigStop)
}

// Resume lets a paused process go on; what was sent meanwhile is then answered.
func (s *RedisServer) Resume() {
	s.t.Helper()
	s.signal(sigCont)
}

func (s *RedisServer) signal(sig os.Signal) {
	s.t.Helper()
	if s.proc == nil {
		s.t.Fatal("testserver: the server was killed")
	}
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("testserver: signal %v: %v", sig, err)
	}
}

func (s *RedisServer) stop() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// process is one life of a server, and the reader of its output.
type process struct {
	cmd   *exec.Cmd
	up    chan struct{} // closed when it is ready to accept connections
	ended chan struct{} // closed at the end of its output

	mu  sync.Mutex
	log strings.Builder // guarded by mu
}

func start(t testing.TB, args []string) *process {
	t.Helper()
	p := &process{
		cmd:   exec.Command("redis-server", args...),
		up:    make(chan struct{}),
		ended: make(chan struct{}),
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("testserver: redis-server: %v", err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("testserver: redis-server: %v", err)
	}
	go p.read(out)
	return p
}

func (p *process) read(out io.Reader) {
	defer close(p.ended)
	up := p.up
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if up != nil && strings.Contains(lines.Text(), "Ready to accept connections") {
			close(up)
			up = nil
		}
	}
}

// ready waits until the server accepts connections. A server that ends instead,
// or takes longer than a slow machine needs, is killed.
func (p *process) ready() bool {
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	select {
	case <-p.up:
		return true
	case <-p.ended:
	case <-limit.C:
	}
	p.kill()
	return false
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended already
	<-p.ended
	_ = p.cmd.Wait() // "signal: killed" is what was asked for
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}
