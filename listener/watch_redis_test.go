package listener_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// lookout is a listener that watches servers, and the losses that it saw.
type lookout struct {
	*listener.DedupConcurrentListener
	client  redis.UniversalClient
	records *countedPulses
	losses  chan seenLoss
}

// seenLoss is a loss, and how many pulses had been answered when it was seen.
type seenLoss struct {
	dedup.Loss
	answered int64
}

func (l *lookout) Observe(context.Context, dedup.Event) {}

func (l *lookout) ObserveLoss(_ context.Context, loss dedup.Loss) {
	l.losses <- seenLoss{loss, l.records.answered.Load()}
}

// watchedOver starts the watch of a store over client, and returns when it has had
// some pulses answered.
func watchedOver(t *testing.T, client redis.UniversalClient) *lookout {
	t.Helper()
	t.Cleanup(func() { client.Close() })
	records, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &lookout{client: client, records: &countedPulses{pulsing: records}, losses: make(chan seenLoss, 100)}
	l.DedupConcurrentListener, err = listener.NewDedupConcurrentListener("billing", l.records, listener.Options{
		Key: listener.KeyFromKeys(), Guard: dedup.Options{Observer: l, Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Watch(ctx); err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	l.pulses(t, 3)
	return l
}

// pulses waits until a server remembers pulse n, or a later one.
func (l *lookout) pulses(t *testing.T, n int64) {
	t.Helper()
	var latest atomic.Int64
	look := func(ctx context.Context, server *redis.Client) error {
		names := server.Scan(ctx, 0, "dedup:{*}billing:*", 1000).Iterator()
		for names.Next(ctx) {
			if number, err := server.Get(ctx, names.Val()).Int64(); err == nil && number > latest.Load() {
				latest.Store(number)
			}
		}
		return names.Err()
	}
	eventually(t, "pulses", func() bool {
		if cluster, ok := l.client.(*redis.ClusterClient); ok {
			must(t, cluster.ForEachMaster(t.Context(), look))
		} else {
			must(t, look(t.Context(), l.client.(*redis.Client)))
		}
		return latest.Load() >= n
	})
}

// moment is when a store was back or lost records.
type moment struct {
	at       time.Time
	answered int64 // pulses until then
}

func (l *lookout) now() moment { return moment{time.Now(), l.records.answered.Load()} }

// flagged waits for a loss and wants it to be seen by the second pulse that the
// store answered since: the first may have been under way. How soon they are sent is
// tested where time does not depend on the machine.
func (l *lookout) flagged(t *testing.T, since moment) dedup.Loss {
	t.Helper()
	select {
	case loss := <-l.losses:
		t.Logf("after %v: %v", time.Since(since.at).Round(time.Millisecond), loss.Loss)
		if pulses := loss.answered - since.answered; pulses > 2 {
			t.Errorf("flagged by pulse %d that was answered, want the second at the latest", pulses)
		}
		if l.Healthy() == nil {
			t.Error("healthy, want the loss")
		}
		return loss.Loss
	case <-time.After(30 * time.Second):
		t.Fatal("no loss was told")
		return dedup.Loss{}
	}
}

// quiet wants no loss while so many pulses more are answered.
func (l *lookout) quiet(t *testing.T, pulses int64) {
	t.Helper()
	l.pulses(t, pulses)
	select {
	case loss := <-l.losses:
		t.Errorf("got %v, want no loss", loss)
	default:
	}
	if err := l.Healthy(); err != nil {
		t.Errorf("got %v, want healthy", err)
	}
}

func redisAt(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: time.Second})
}

func redisUnder(set *testserver.SentinelSet) *redis.Client {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		SentinelAddrs: set.Addrs(), MasterName: testserver.MasterName,
		ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
}

func redisCluster(c *testserver.RedisCluster) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), ContextTimeoutEnabled: true, ReadTimeout: time.Second,
	})
}

// promoted waits until a replica is a master, and returns when that was.
func (l *lookout) promoted(t *testing.T, replica *testserver.RedisServer) moment {
	t.Helper()
	client := redisAt(replica.Addr())
	defer client.Close()
	eventually(t, "promotion", func() bool {
		return strings.Contains(client.Info(t.Context(), "replication").Val(), "role:master")
	})
	return l.now()
}

func TestAFailoverIsFlagged(t *testing.T) {
	t.Parallel()
	for name, lagging := range map[string]bool{"to a replica that had everything": false, "to a replica that lagged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := testserver.Sentinel(t)
			l := watchedOver(t, redisUnder(set))
			replica := redisAt(set.Replica.Addr())
			defer replica.Close()
			if lagging { // a wrong password keeps it from coming back
				must(t, replica.ConfigSet(t.Context(), "masterauth", "wrong").Err())
				must(t, replica.Do(t.Context(), "client", "kill", "type", "master").Err())
				l.pulses(t, 6)
			}
			set.Watch()
			set.Master.Kill()
			loss := l.flagged(t, l.promoted(t, set.Replica))
			if !loss.Replaced || loss.Certain() != lagging {
				t.Errorf("got %+v, want it replaced, and certain: %t", loss, lagging)
			}
		})
	}
}

func TestAFailoverInAClusterIsFlagged(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 3, 1)
	l := watchedOver(t, redisCluster(c))
	c.Watch()
	c.Masters[0].Kill()
	if loss := l.flagged(t, l.promoted(t, c.Replicas[0])); !loss.Replaced || loss.Server != c.Replicas[0].Addr() {
		t.Errorf("got %+v, want the replica %s in its master's place", loss, c.Replicas[0].Addr())
	}
	select {
	case other := <-l.losses:
		t.Errorf("got %v, want nothing about the other masters", other)
	default:
	}
}

func TestARestartIsFlaggedForWhatItLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		lost bool
	}{
		"with its log":    {[]string{"--appendonly", "yes", "--appendfsync", "always"}, false},
		"without its log": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t, c.args...)
			l := watchedOver(t, redisAt(server.Addr()))
			server.Restart()
			if loss := l.flagged(t, l.now()); !loss.Replaced || loss.Certain() != c.lost {
				t.Errorf("got %+v, want it replaced, and certain: %t", loss, c.lost)
			}
		})
	}
}

func TestAFlushIsFlagged(t *testing.T) {
	t.Parallel()
	l := watchedOver(t, redisAt(testserver.Redis(t).Addr()))
	began := l.now()
	must(t, l.client.FlushAll(t.Context()).Err())
	if loss := l.flagged(t, began); loss.Replaced || !loss.Certain() {
		t.Errorf("got %+v, want a certain loss on the same server", loss)
	}
}

func TestAnEvictionIsFlagged(t *testing.T) {
	t.Parallel()
	l := watchedOver(t, redisAt(testserver.Redis(t, "--maxmemory-policy", "volatile-ttl").Addr()))
	must(t, l.client.Set(t.Context(), "dedup:{first to go}", strings.Repeat("x", 1<<20), time.Minute).Err())
	began := l.now()
	must(t, l.client.ConfigSet(t.Context(), "maxmemory", "1500kb").Err())
	if loss := l.flagged(t, began); loss.Evicted == 0 {
		t.Errorf("got %+v, want an eviction", loss)
	}
}

func TestSlotsThatMoveAreNoLoss(t *testing.T) {
	t.Parallel()
	c := testserver.Cluster(t, 2, 0)
	l := watchedOver(t, redisCluster(c))
	from, to := redisAt(c.Masters[0].Addr()), redisAt(c.Masters[1].Addr())
	defer from.Close()
	defer to.Close()
	ctx := t.Context()
	fromID, toID := from.Do(ctx, "cluster", "myid").Val(), to.Do(ctx, "cluster", "myid").Val()
	const slot = 0 // the first master's pulses are there
	must(t, to.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err())
	must(t, from.Do(ctx, "cluster", "setslot", slot, "migrating", toID).Err())
	names := from.Do(ctx, "cluster", "getkeysinslot", slot, 10).Val().([]any)
	if len(names) != 1 {
		t.Fatalf("got the names %v in the slot, want that of a pulse", names)
	}
	host, port, _ := strings.Cut(c.Masters[1].Addr(), ":")
	must(t, from.Do(ctx, "migrate", host, port, names[0], 0, 1000).Err())
	l.quiet(t, 6) // the name has moved, the slot has not
	for _, node := range []*redis.Client{to, from} {
		must(t, node.Do(ctx, "cluster", "setslot", slot, "node", toID).Err())
	}
	l.quiet(t, 9)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
