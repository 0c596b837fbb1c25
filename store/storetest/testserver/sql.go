package testserver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SQLServer is a private MariaDB or MySQL process with a database "dedup". The
// user root needs no password. Its methods fail the test when the process does
// not obey; they are not safe for concurrent use.
type SQLServer struct {
	t       testing.TB
	client  string // path of the mariadb program
	port    int
	command func() *exec.Cmd // starts the server, all but its port
	proc    *process         // nil after Kill and Stop
}

// Addr is the server's host:port. It stays the same over Start.
func (s *SQLServer) Addr() string { return loopback(s.port) }

// DSN is the data source name of database db for go-sql-driver/mysql, with
// params such as "parseTime=true".
func (s *SQLServer) DSN(db string, params ...string) string {
	dsn := "root@tcp(" + s.Addr() + ")/" + db
	if len(params) == 0 {
		return dsn
	}
	return dsn + "?" + strings.Join(params, "&")
}

// Exec runs statements in the database "dedup" on a connection of its own and
// returns the rows, one a line, columns separated by tabs.
func (s *SQLServer) Exec(sql string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	// Newer clients insist on TLS unless told otherwise.
	out, err := exec.CommandContext(ctx, s.client, "--no-defaults", "--protocol=tcp", "--host=127.0.0.1",
		"--port="+strconv.Itoa(s.port), "--user=root", "--skip-ssl", "--batch", "--skip-column-names",
		"--execute="+sql, "dedup").CombinedOutput()
	if err != nil {
		s.t.Fatalf("testserver: %s: %v: %s", sql, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Kill ends the process at once, as kill -9 does, and returns when it is gone.
// What was committed is there after Start.
func (s *SQLServer) Kill() {
	s.t.Helper()
	s.kill()
}

// Stop ends the process in order and returns when it is gone. A frozen one does
// not obey.
func (s *SQLServer) Stop() {
	s.t.Helper()
	s.proc.signal(s.t, func(p *os.Process) error { return p.Signal(syscall.SIGTERM) })
	select {
	case <-s.proc.ended:
		s.kill()
	case <-time.After(30 * time.Second):
		s.t.Fatalf("testserver: the server did not stop:\n%s", s.proc.output())
	}
}

// Start starts the server again after Kill or Stop, on the same port and data.
// It returns when the server accepts connections.
func (s *SQLServer) Start() {
	s.t.Helper()
	if s.proc != nil {
		s.t.Fatal("testserver: the server runs already")
	}
	if !s.launch() {
		s.t.Fatalf("testserver: the server did not start again:\n%s", s.proc.output())
	}
}

// Freeze stops the process from doing anything: connections stay open, new ones
// are made by the operating system alone, and nothing is answered.
func (s *SQLServer) Freeze() {
	s.t.Helper()
	s.proc.signal(s.t, Freeze)
}

// Thaw lets a frozen process go on; what was sent meanwhile is then answered.
func (s *SQLServer) Thaw() {
	s.t.Helper()
	s.proc.signal(s.t, Thaw)
}

// begin starts the server for the first time and ends it with the test. It draws
// again when another process has taken the port first.
func (s *SQLServer) begin() {
	s.t.Helper()
	s.t.Cleanup(s.kill)
	for range 5 {
		s.port = freePort(s.t)
		if s.launch() {
			return
		}
		s.proc.kill()
	}
	s.t.Fatalf("testserver: the server did not start:\n%s", s.proc.output())
}

func (s *SQLServer) launch() bool {
	s.t.Helper()
	cmd := s.command()
	cmd.Args = append(cmd.Args, "--port="+strconv.Itoa(s.port))
	s.proc = start(s.t, cmd)
	return s.proc.await("ready for connections")
}

func (s *SQLServer) kill() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// redoLog is the size of the redo log: small, because a new server writes it once in full.
const redoLog = "--innodb-log-file-size=8M"

// sqlOptions are the options of a server that is reached only from here, over
// TCP alone: the path of a Unix socket must not be longer than 107 bytes. It
// keeps its data in dir/data and is small and quick to start. Asynchronous I/O
// is left to others: the system has it for a few servers only.
func sqlOptions(t testing.TB, dir string) []string {
	t.Helper()
	init := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(init, []byte("CREATE DATABASE IF NOT EXISTS dedup;\n"), 0o600); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	return append(sqlUser(), "--datadir="+filepath.Join(dir, "data"), "--tmpdir="+dir, "--init-file="+init,
		"--bind-address=127.0.0.1", "--socket=", "--skip-name-resolve", "--performance-schema=OFF",
		"--innodb-buffer-pool-size=16M", redoLog, "--innodb-use-native-aio=0")
}

// sqlUser tells a server that root starts that this is meant.
func sqlUser() []string {
	if os.Getuid() != 0 {
		return nil
	}
	return []string{"--user=root"}
}

// program returns the path of a program of MariaDB, or skips or fails the test.
// Not everybody has /usr/sbin in PATH.
func program(t testing.TB, name string) string {
	t.Helper()
	refuse(t)
	for _, file := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(file); err == nil {
			return path
		}
	}
	noServer(t, name+" is not in PATH; install mariadb-server-core and mariadb-client-core or run scripts/test.sh")
	return ""
}
