package testserver

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MasterName is what the sentinels of a [SentinelSet] call its master.
const MasterName = "records"

// SentinelSet is a master with a replica, under three sentinels of which two
// must agree that the master is gone.
type SentinelSet struct {
	Master, Replica *RedisServer // as they began
	Sentinels       []*RedisServer
}

// Sentinel starts such a set, as [Redis] starts a server, and returns when the
// replica is in step. The sentinels do not replace a master before
// [SentinelSet.Watch]: on a busy machine one that is alive can be silent for
// seconds. args are options of the sentinels.
func Sentinel(t testing.TB, args ...string) *SentinelSet {
	t.Helper()
	needRedis(t)
	all := together(t, func() []*RedisServer { return drawSentinel(t, args) })
	set := &SentinelSet{Master: all[0], Replica: all[1], Sentinels: all[2:]}
	if !set.Replica.proc.await(synced) {
		t.Fatalf("testserver: the replica did not follow its master:\n%s", set.Replica.proc.output())
	}
	return set
}

// Watch makes the sentinels, which must have no password, replace a master that
// is silent for a second.
func (s *SentinelSet) Watch() {
	s.Master.t.Helper()
	for _, sentinel := range s.Sentinels {
		answer, err := command(sentinel.Addr(), "sentinel set "+MasterName+" down-after-milliseconds 1000")
		if err != nil || answer != "+OK\r\n" {
			s.Master.t.Errorf("testserver: sentinel set: %q, %v", answer, err)
		}
	}
}

// command sends one line and returns the first line of the answer.
func command(addr, line string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// Addrs are the addresses of the sentinels.
func (s *SentinelSet) Addrs() []string { return addrs(s.Sentinels) }

func drawSentinel(t testing.TB, args []string) []*RedisServer {
	t.Helper()
	ports := []int{freePort(t), freePort(t), freePort(t), freePort(t), freePort(t)}
	master, replica, watchers := ports[0], ports[1], ports[2:]
	all := []*RedisServer{
		withFile(t, master, accepts, dataFile(t.TempDir())),
		withFile(t, replica, accepts, dataFile(t.TempDir())+fmt.Sprintf("replicaof 127.0.0.1 %d\n", master)),
	}
	for i, port := range watchers {
		s := withFile(t, port, "+monitor master "+MasterName, sentinelFile(i, watchers, master, replica))
		s.args = append(append(s.args, "--sentinel"), args...)
		all = append(all, s)
	}
	return all
}

// withFile has all its options in a file, because sentinels change them, their
// own and those of the servers they watch.
func withFile(t testing.TB, port int, works, text string) *RedisServer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(file, []byte("bind 127.0.0.1\n"+text), 0o600); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	return &RedisServer{t: t, port: port, args: []string{file}, works: works}
}

func dataFile(dir string) string {
	return fmt.Sprintf("dir %s\nsave \"\"\nappendonly no\nrepl-diskless-sync no\n", dir)
}

// sentinelFile tells sentinel i everything that it would otherwise find out in
// its first seconds.
func sentinelFile(i int, ports []int, master, replica int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "sentinel "+format+"\n", args...) }
	line("myid %s", identity(i))
	line("monitor %s 127.0.0.1 %d 2", MasterName, master)
	line("known-replica %s 127.0.0.1 %d", MasterName, replica)
	for j, port := range ports {
		if j != i {
			line("known-sentinel %s 127.0.0.1 %d %s", MasterName, port, identity(j))
		}
	}
	line("down-after-milliseconds %s 600000", MasterName)
	line("failover-timeout %s 3000", MasterName)
	return b.String()
}
