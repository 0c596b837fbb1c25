package dedup_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// crowd delivers a few keys again and again, alone and in batches, through a
// store with random faults. It watches what no delivery may ever see.
type crowd struct {
	t *testing.T
	b *bench

	mu    sync.Mutex // guards what follows
	live  map[store.Key]context.Context
	ended map[store.Key]bool // a callback succeeded
	runs  int
}

// enter is called by a callback when it starts, with the keys that it runs.
func (c *crowd) enter(ctx context.Context, keys []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	for _, k := range keys {
		if other := c.live[k]; other != nil && other.Err() == nil {
			c.t.Errorf("%s: started beside a live owner", k)
		}
		c.live[k] = ctx
	}
}

func (c *crowd) leave(ctx context.Context, keys []store.Key, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		c.ended[k] = c.ended[k] || err == nil
		if c.live[k] == ctx {
			delete(c.live, k)
		}
	}
}

func (c *crowd) finished(k store.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended[k]
}

// callback behaves at random.
func (c *crowd) callback(ctx context.Context, r *rand.Rand, keys []store.Key) (err error) {
	c.enter(ctx, keys)
	defer func() { c.leave(ctx, keys, err) }()
	err = errBoom // stays when the callback panics or ends its goroutine
	switch r.IntN(10) {
	case 0:
		panic("boom")
	case 1:
		runtime.Goexit()
	case 2, 3:
		time.Sleep(time.Duration(r.IntN(int(30 * time.Second)))) // whatever its context says
		return nil
	case 4, 5:
		return errBoom
	}
	err = holdFor(time.Duration(r.IntN(int(5 * time.Second))))(ctx)
	return err
}

// check holds for every result of every delivery.
func (c *crowd) check(k store.Key, r dedup.Result) (finished bool) {
	if r.Outcome.Finished() && !c.finished(k) {
		c.t.Errorf("%s: %v without a callback that succeeded", k, r.Outcome)
	}
	if !r.Outcome.Finished() && r.Err == nil {
		c.t.Errorf("%s: %v without a reason", k, r.Outcome)
	}
	return r.Outcome.Finished()
}

// consume delivers ds together until all are finished, like a broker.
func (c *crowd) consume(seed uint64, ds []dedup.Delivery) {
	r := rand.New(rand.NewPCG(seed, 7))
	for len(ds) > 0 {
		var results []dedup.Result
		if len(ds) == 1 {
			results = append(results, c.b.Deliver(c.t.Context(), ds[0], func(ctx context.Context) error {
				return c.callback(ctx, r, []store.Key{ds[0].Key})
			}))
		} else {
			results = c.b.DeliverTogether(c.t.Context(), ds, func(ctx context.Context, acquired []int) error {
				var keys []store.Key
				for _, i := range acquired {
					keys = append(keys, ds[i].Key)
				}
				return c.callback(ctx, r, keys)
			})
		}
		var open []dedup.Delivery
		for i, d := range ds {
			if !c.check(d.Key, results[i]) {
				open = append(open, d)
			}
		}
		ds = open
		time.Sleep(time.Duration(r.IntN(int(3 * time.Second))))
	}
}

func TestRandomDeliveries(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			chance := 0.1 + float64(seed%3)*0.08 // of each fault: leases are lost at the higher ones
			f := &storetest.Faults{Seed: seed, Before: chance, After: chance, Lagging: chance, Delay: 5 * time.Second}
			c := &crowd{t: t, live: map[store.Key]context.Context{}, ended: map[store.Key]bool{}}
			c.b = newBench(t, func(s store.Store) store.Store { return storetest.Flaky(s, f) })
			random := rand.New(rand.NewPCG(seed, 3))
			policies := []dedup.Policy{
				short(), {Lease: 300 * time.Millisecond, MaxConsume: 10 * time.Second}, dedup.FixedLease(4 * time.Second),
				{Lease: 3 * time.Second, MaxConsume: 8 * time.Second, Verifier: c.verify},
			}
			var all sync.WaitGroup
			for i := range uint64(40) {
				var ds []dedup.Delivery
				for n := range 1 + random.IntN(4) {
					id := strconv.Itoa(n*10 + random.IntN(5)) // distinct inside a batch
					ds = append(ds, dedup.Delivery{Key: key(id), Policy: policies[random.IntN(len(policies))]})
				}
				all.Go(func() { c.consume(seed<<8+i, ds) })
			}
			all.Wait()
			if err := c.b.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if c.runs == 0 || len(c.live) != 0 {
				t.Errorf("%d runs, %d of them left", c.runs, len(c.live))
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// verify knows what happened, or cannot tell, or fails.
func (c *crowd) verify(ctx context.Context, k store.Key) (dedup.Finding, error) {
	if err := holdFor(time.Second)(ctx); err != nil {
		return dedup.Unknown, err
	}
	if c.finished(k) {
		return dedup.Happened, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch other := c.live[k]; {
	case other != nil && other.Err() == nil:
		c.t.Errorf("%s: verified beside a live owner", k)
	case other != nil:
		return dedup.Unknown, errors.New("somebody is still at it")
	}
	return dedup.NotHappened, nil
}
