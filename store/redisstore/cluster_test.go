package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// cluster starts two masters with half of the slots each.
func cluster(t *testing.T) (*redis.ClusterClient, []*testserver.RedisServer) {
	t.Helper()
	c := testserver.Cluster(t, 2, 0, "--appendonly", "yes")
	return connectCluster(t, c.Addrs()[0], nil), c.Masters
}

func connectCluster(t testing.TB, addrs string, change func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{Addrs: strings.Split(addrs, ","), ContextTimeoutEnabled: true, ReadTimeout: time.Second}
	if change != nil {
		change(o)
	}
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// awaitState waits until the node says that of the cluster.
func awaitState(t *testing.T, node *redis.Client, state string) {
	t.Helper()
	ctx := within(t, ample)
	for {
		text, err := node.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatalf("waiting for the cluster: %v", err)
		}
		if strings.Contains(text, "cluster_state:"+state) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	client, _ := cluster(t)
	s := open(t, client)
	t.Run("check sees every master", func(t *testing.T) {
		findings, err := s.Inspect(within(t, ample))
		if err != nil || len(findings) != 0 {
			t.Errorf("inspect: got %v, %v, want nothing", findings, err)
		}
		err = client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			return errors.Join(node.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(),
				node.ConfigSet(ctx, "maxmemory", "1gb").Err())
		})
		if err != nil {
			t.Fatal(err)
		}
		findings, err = s.Inspect(within(t, ample))
		if err != nil || len(findings) != 2 || findings[0].Server >= findings[1].Server {
			t.Errorf("inspect: got %v, %v, want one finding for each of two masters", findings, err)
		}
	})
	t.Run("a renewal spans masters", func(t *testing.T) { renewAcross(t, client, s) })
	t.Run("the recommended rights are enough", func(t *testing.T) {
		err := client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			return node.Do(ctx, setUser(recommendedRights+" +cluster|slots +command")...).Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := redisstore.New(connectCluster(t, client.Options().Addrs[0], func(o *redis.ClusterOptions) {
			o.Username, o.Password = "dedup", "password"
		}), redisstore.Options{AllowEviction: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(within(t, ample)); err != nil { // runs every script
			t.Errorf("check: %v", err)
		}
		if beats := doubts(t, s); len(beats) != 2 {
			t.Errorf("pulse: got %d beats of two masters", len(beats))
		}
		needsRights(t, s, func() error {
			return client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
				return node.Do(ctx, setUser(rightsToForget+" "+rightsToScanCluster)...).Err()
			})
		})
	})
}

func renewAcross(t *testing.T, client *redis.ClusterClient, s *redisstore.Store) {
	var renewals []store.Claim
	slots := map[bool]bool{}
	for range 20 {
		c := store.Claim{Key: newKey(), Token: store.NewToken()}
		claims(t, s, request(c.Key, c.Token), 1)
		renewals = append(renewals, c)
		slots[client.ClusterKeySlot(t.Context(), recordName(c.Key)).Val() < 8192] = true
	}
	if len(slots) != 2 {
		t.Fatal("all 20 keys are on one master")
	}
	err := client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		return node.ScriptFlush(ctx).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	renewals = append(renewals, store.Claim{Key: newKey(), Token: store.NewToken()})
	for i, err := range s.Renew(within(t, ample), renewals) {
		if lost := i == 20; lost != errors.Is(err, store.ErrNotOwner) || !lost && err != nil {
			t.Errorf("renewal %d: got %v", i, err)
		}
	}
}

func TestASilentMasterHoldsUpItsOwnKeysOnly(t *testing.T) {
	t.Parallel()
	set := testserver.Cluster(t, 2, 0)
	client := connectCluster(t, set.Addrs()[0], func(o *redis.ClusterOptions) {
		o.ReadTimeout, o.MaxRedirects = 9*time.Second, -1 // longer than the claims take that are answered
	})
	s := open(t, client)
	onMaster := func(k store.Key) int { return slotOf(recordName(k)) / 8192 }
	for _, k := range newKeys(8) { // connects to both
		claims(t, s, request(k, store.NewToken()), 1)
	}
	set.Masters[1].Pause()
	defer set.Masters[1].Resume()
	patience, giveUp := context.WithCancel(within(t, ample))
	defer giveUp()
	var answered, unanswered sync.WaitGroup
	var gone atomic.Int32
	for _, k := range newKeys(64) {
		if onMaster(k) == 0 {
			answered.Go(func() {
				if v, err := s.Claim(within(t, ample), request(k, store.NewToken())); err != nil || v.State != store.Claimed {
					t.Errorf("claim on the master that answers: got %v, %v", v, err)
				}
			})
			continue
		}
		unanswered.Go(func() {
			if v, err := s.Claim(patience, request(k, store.NewToken())); err == nil {
				t.Errorf("a frozen master answered %v", v)
			}
			gone.Add(1)
		})
	}
	answered.Wait()
	if n := gone.Load(); n > 0 {
		t.Errorf("%d claims on the frozen master ended before those on the other", n)
	}
	giveUp()
	unanswered.Wait()
}
