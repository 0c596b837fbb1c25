package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	clusterWorks = "Cluster state changed: ok"
	synced       = "MASTER <-> REPLICA sync: Finished with success"
	slots        = 16384
)

// RedisCluster is a private Redis Cluster.
type RedisCluster struct {
	Masters  []*RedisServer // each with an equal share of the slots, in order
	Replicas []*RedisServer // the first follows the first master, and so on
}

// Cluster starts a Redis Cluster of Redis 7.0 or later, as [Redis] starts a
// server, and returns when it works and its replicas are in step. A node that is
// silent counts as failed after 15 s, or as [RedisCluster.Watch] says. Replicas are
// promoted by a majority of all masters, so by two of three. args are options of
// every node.
//
// A node that restarts takes two seconds before it works again.
func Cluster(t testing.TB, masters, replicas int, args ...string) *RedisCluster {
	t.Helper()
	needRedis(t)
	nodes := together(t, func() []*RedisServer { return drawCluster(t, masters, replicas, args) })
	for _, s := range nodes[masters:] {
		if !s.proc.await(synced) {
			t.Fatalf("testserver: a replica did not follow its master:\n%s", s.proc.output())
		}
	}
	return &RedisCluster{Masters: nodes[:masters], Replicas: nodes[masters:]}
}

// Watch makes a node that is silent for a second count as failed. On a busy machine
// one that is alive can be silent for so long: call it where one is to fail.
func (c *RedisCluster) Watch() {
	for _, s := range slices.Concat(c.Masters, c.Replicas) {
		s.t.Helper()
		if s.proc == nil {
			continue
		}
		if answer, err := command(s.Addr(), "config set cluster-node-timeout 1000"); err != nil || answer != "+OK\r\n" {
			s.t.Errorf("testserver: config set: %q, %v", answer, err)
		}
	}
}

// Addrs are the addresses of the masters that the cluster began with.
func (c *RedisCluster) Addrs() []string { return addrs(c.Masters) }

func drawCluster(t testing.TB, masters, replicas int, args []string) []*RedisServer {
	t.Helper()
	var nodes []*RedisServer
	var dirs []string
	var lines [][2]string // of nodes.conf, about each node: where it is and what it is
	for i := range masters + replicas {
		dir, port, bus := t.TempDir(), freePort(t), freePort(t)
		options := append(private(dir), "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus),
			"--repl-diskless-sync", "no")
		nodes = append(nodes, &RedisServer{t: t, port: port, args: append(options, args...), works: clusterWorks})
		dirs = append(dirs, dir)
		role, share := "master -", fmt.Sprintf("%d-%d", i*slots/masters, (i+1)*slots/masters-1)
		if i >= masters {
			role, share = "slave "+identity(i-masters), ""
		}
		lines = append(lines, [2]string{
			fmt.Sprintf("%s 127.0.0.1:%d@%d ", identity(i), port, bus),
			fmt.Sprintf("%s 0 0 %d connected %s\n", role, i+1, share),
		})
	}
	for i, dir := range dirs {
		writeNodes(t, dir, lines, i)
	}
	return nodes
}

// writeNodes tells node self the whole cluster before its first start, as if it
// had been part of it before.
func writeNodes(t testing.TB, dir string, lines [][2]string, self int) {
	t.Helper()
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line[0])
		if i == self {
			b.WriteString("myself,")
		}
		b.WriteString(line[1])
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", len(lines))
	if err := os.WriteFile(filepath.Join(dir, "nodes.conf"), []byte(b.String()), 0o600); err != nil {
		t.Fatalf("testserver: %v", err)
	}
}

// identity is the name that server i of a set has for the others.
func identity(i int) string { return fmt.Sprintf("%040x", i+1) }

func addrs(servers []*RedisServer) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}
