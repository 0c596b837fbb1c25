package testserver

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// RedisServer is a private redis-server process. Its methods fail the test when
// the process does not obey; they are not safe for concurrent use.
type RedisServer struct {
	t     testing.TB
	port  int
	args  []string
	works string   // what it logs when it does
	proc  *process // nil after Kill
}

const accepts = "Ready to accept connections"

// Redis starts a redis-server on a free loopback port with a folder of its own,
// and stops it when the test ends. It keeps nothing on disk unless args say so.
// args are redis-server options such as "--appendonly", "yes"; with
// "--tls-cert-file" among them the port speaks TLS only.
//
// Without redis-server in PATH it skips the test and says so; with
// DEDUP_TEST_STRICT=1 it fails it instead.
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	needRedis(t)
	base := append(private(t.TempDir()), args...)
	return together(t, func() []*RedisServer {
		return []*RedisServer{{t: t, port: freePort(t), args: base, works: accepts}}
	})[0]
}

// needRedis skips or fails a test that cannot start a server.
func needRedis(t testing.TB) {
	t.Helper()
	refuse(t)
	if _, err := exec.LookPath("redis-server"); err != nil {
		noServer(t, "redis-server is not in PATH; install the package redis-server or run scripts/test.sh")
	}
}

// refuse skips a test when no server is wanted, although it could be started.
func refuse(t testing.TB) {
	t.Helper()
	if os.Getenv("DEDUP_TEST_SERVERS") == "none" {
		noServer(t, "DEDUP_TEST_SERVERS is none; unset it or run scripts/test.sh")
	}
}

func noServer(t testing.TB, hint string) {
	t.Helper()
	if os.Getenv("DEDUP_TEST_STRICT") == "1" {
		t.Fatalf("NO SERVER and DEDUP_TEST_STRICT=1: %s", hint)
	}
	t.Skipf("SKIPPED, NO SERVER: %s", hint)
}

// private are the options of a server that is reached only from here and keeps
// nothing on disk.
func private(dir string) []string {
	return []string{"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"}
}

// together starts the servers that draw returns and stops them when the test
// ends. It draws again when another process has taken one of their ports first.
func together(t testing.TB, draw func() []*RedisServer) []*RedisServer {
	t.Helper()
	var broken *RedisServer
	for range 5 {
		servers := draw()
		for _, s := range servers {
			t.Cleanup(s.stop)
			s.start()
		}
		i := slices.IndexFunc(servers, func(s *RedisServer) bool { return !s.proc.await(s.works) })
		if i < 0 {
			return servers
		}
		broken = servers[i]
		for _, s := range servers {
			s.proc.kill()
		}
	}
	t.Fatalf("testserver: redis-server did not start:\n%s", broken.proc.output())
	return nil
}

func (s *RedisServer) start() {
	s.t.Helper()
	s.proc = start(s.t, exec.Command("redis-server", s.command()...))
}

// command has the port last, because a sentinel's options begin with its file.
func (s *RedisServer) command() []string {
	port := strconv.Itoa(s.port)
	if slices.Contains(s.args, "--tls-cert-file") {
		return slices.Concat(s.args, []string{"--port", "0", "--tls-port", port})
	}
	return slices.Concat(s.args, []string{"--port", port})
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
	s.start()
	if !s.proc.await(s.works) {
		s.t.Fatalf("testserver: redis-server did not start again:\n%s", s.proc.output())
	}
}

// Pause freezes the process: connections stay open and nothing is answered.
func (s *RedisServer) Pause() {
	s.t.Helper()
	s.proc.signal(s.t, Freeze)
}

// Resume lets a paused process go on; what was sent meanwhile is then answered.
func (s *RedisServer) Resume() {
	s.t.Helper()
	s.proc.signal(s.t, Thaw)
}

func (s *RedisServer) stop() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}
