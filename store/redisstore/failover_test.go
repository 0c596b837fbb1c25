package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func connectSentinels(t testing.TB, addrs, master string) *redis.Client {
	t.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		SentinelAddrs: strings.Split(addrs, ","), MasterName: master,
		ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

// underSentinels starts servers of the test's own.
func underSentinels(t *testing.T) (*testserver.SentinelSet, *redis.Client) {
	t.Helper()
	set := testserver.Sentinel(t)
	return set, connectSentinels(t, strings.Join(set.Addrs(), ","), testserver.MasterName)
}

func TestAFailoverCostsWhatItLost(t *testing.T) {
	t.Parallel()
	set, client := underSentinels(t)
	survive(t, disaster{
		client: client,
		strike: set.Master.Kill,
		heir:   set.Replica,
		crown: func() { // the machine has died with all that runs on it
			set.Watch()
			set.Sentinels[0].Kill()
		},
	})
}

func TestAFailoverToAReplicaThatLaggedCostsWhatItLost(t *testing.T) {
	t.Parallel()
	set, client := underSentinels(t)
	replica := connect(t, set.Replica.Addr(), nil)
	found := survive(t, disaster{
		client: client,
		before: func() { // a wrong password keeps it from coming back
			if err := replica.ConfigSet(t.Context(), "masterauth", "wrong").Err(); err != nil {
				t.Error(err)
			}
			if err := replica.Do(t.Context(), "client", "kill", "type", "master").Err(); err != nil {
				t.Error(err)
			}
		},
		strike: set.Master.Kill,
		heir:   set.Replica,
		crown:  set.Watch,
	})
	if found.dones < found.certain { // a busy machine may leave nothing that is certain
		t.Errorf("got %d done records lost, want at least the %d that the replica never saw", found.dones, found.certain)
	}
}

// A frozen machine is replaced like a dead one, and then it wakes up and still
// believes to be the master.
func TestAMasterThatWakesUpIsNotAsked(t *testing.T) {
	t.Parallel()
	set, client := underSentinels(t)
	survive(t, disaster{
		client: client, strike: set.Master.Pause, heir: set.Replica, crown: set.Watch, after: set.Master.Resume,
	})
}

func TestAFailoverInAClusterCostsWhatItLost(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 3, 1)
	found := survive(t, disaster{
		client: connectCluster(t, c.Addrs()[0], nil),
		had:    func(slot int) bool { return slot < 16384/3 },
		strike: c.Masters[0].Kill,
		heir:   c.Replicas[0],
		crown:  c.Watch,
	})
	if found.outage > ample { // by itself the client looks once a minute
		t.Errorf("the client took %v to find the new master", found.outage)
	}
}

func TestAClusterNodeThatComesBackCostsNothing(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 3, 0, "--appendonly", "yes", "--appendfsync", "no")
	other := connect(t, c.Masters[1].Addr(), nil)
	found := survive(t, disaster{
		client: connectCluster(t, c.Addrs()[0], nil),
		had:    func(slot int) bool { return slot < 16384/3 },
		strike: func() {
			c.Masters[0].Kill()
			c.Watch()
			awaitState(t, other, "fail")
			c.Masters[0].Restart()
		},
		heir: c.Masters[0],
	})
	if found.dones+found.claims+found.doubled != 0 {
		t.Errorf("got %+v, want no loss", found)
	}
}
