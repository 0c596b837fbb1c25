package testserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// until asks again and again, on new connections, for an answer that takes an
// election.
func until(t *testing.T, s *testserver.RedisServer, command, want string) {
	t.Helper()
	var got string
	for began := time.Now(); time.Since(began) < 3*late; time.Sleep(10 * time.Millisecond) {
		var err error
		if got, err = say(dial(t, s.Addr()), late, command); err == nil && strings.HasPrefix(got, want) {
			return
		}
	}
	t.Fatalf("%s: got %q, want %q", command, got, want)
}

func TestAClusterSharesTheSlots(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 3, 1, "--appendonly", "yes")
	first, last := c.Masters[0], c.Masters[2]
	// The slots of a and b are 15495 and 3300.
	says(t, dial(t, last.Addr()), "SET a 1", "+OK")
	says(t, dial(t, last.Addr()), "SET b 1", "-MOVED 3300 "+first.Addr())
	says(t, dial(t, first.Addr()), "SET b 1", "+OK")
	says(t, dial(t, c.Replicas[0].Addr()), "SET b 1", "-MOVED 3300 "+first.Addr())

	c.Watch()
	first.Kill()
	until(t, c.Replicas[0], "EXISTS b", ":1")
	first.Restart()
	until(t, first, "EXISTS b", "-MOVED 3300 "+c.Replicas[0].Addr())
}

func TestSentinelsPromoteTheReplica(t *testing.T) {
	t.Parallel()
	s := testserver.Sentinel(t, "--requirepass", "secret")
	says(t, dial(t, s.Master.Addr()), "SET a 1", "+OK")
	says(t, dial(t, s.Replica.Addr()), "SET a 2", "-READONLY You can't write against a read only replica.")
	watcher := dial(t, s.Sentinels[2].Addr())
	says(t, watcher, "AUTH secret", "+OK")
	says(t, watcher, "SENTINEL CKQUORUM "+testserver.MasterName,
		"+OK 3 usable Sentinels. Quorum and failover authorization can be reached")

	for _, sentinel := range s.Sentinels { // as Watch does where they have no password
		c := dial(t, sentinel.Addr())
		says(t, c, "AUTH secret", "+OK")
		says(t, c, "SENTINEL SET "+testserver.MasterName+" down-after-milliseconds 1000", "+OK")
	}
	s.Master.Kill()
	until(t, s.Replica, "SET a 3", "+OK")
	s.Master.Restart()
	s.Replica.Restart()
	says(t, dial(t, s.Replica.Addr()), "SET a 4", "+OK") // it remembers to be the master
}
