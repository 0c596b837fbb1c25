package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// waiting is a delivery that waits for copies.
func waiting(id string) dedup.Delivery {
	p := short()
	p.BusyWait = 5 * time.Second
	return dedup.Delivery{Key: key(id), Policy: p}
}

func TestACopyWaitsForTheFirstAndIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		go func() { want(t, b.Deliver(t.Context(), waiting("1"), holdFor(2*time.Second)), dedup.Ran, nil) }()
		synctest.Wait()
		var copies sync.WaitGroup
		for range 10 {
			copies.Go(func() { want(t, b.Deliver(t.Context(), waiting("1"), mustNotRun(t)), dedup.Skipped, nil) })
		}
		synctest.Wait()
		if s := b.Stats(); s.Waiting != 10 || s.Running != 1 {
			t.Errorf("gauges: got %+v, want 10 waiting", s)
		}
		began := time.Now()
		copies.Wait()
		if took := time.Since(began); took != 2*time.Second || f.Calls(storetest.Claim) != 1 {
			t.Errorf("waited %v with %d claims, want 2s and that of the first", took, f.Calls(storetest.Claim))
		}
		<-b.events
		if e := <-b.events; e.WaitTime != 2*time.Second || e.ClaimTime != 0 {
			t.Errorf("event: got %+v, want 2s of waiting", e)
		}
	})
}

func TestAfterAFailureOneCopyRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := &tokensOf{}
		b := newBench(t, func(s store.Store) store.Store { tokens.Store = s; return tokens })
		var runs, live atomic.Int32
		var all sync.WaitGroup
		outcomes := make(chan dedup.Outcome, 10)
		for range 10 {
			all.Go(func() {
				r := b.Deliver(t.Context(), waiting("1"), func(context.Context) error {
					if live.Add(1) > 1 {
						t.Error("two run at once")
					}
					defer live.Add(-1)
					time.Sleep(time.Second)
					if runs.Add(1) < 3 {
						return errBoom
					}
					return nil
				})
				outcomes <- r.Outcome
			})
		}
		all.Wait()
		close(outcomes)
		count := map[dedup.Outcome]int{}
		for o := range outcomes {
			count[o]++
		}
		if count[dedup.Failed] != 2 || count[dedup.Ran] != 1 || count[dedup.Skipped] != 7 {
			t.Errorf("got %v, want two failed, one ran, the others skipped", count)
		}
		waited := 0
		for range 10 {
			if e := <-b.events; e.RunTime > 0 && e.WaitTime > 0 {
				waited++
			}
		}
		if waited != 2 {
			t.Errorf("%d runs tell that they have waited, want all but the first", waited)
		}
		slices.SortFunc(tokens.claimed, func(a, b store.Token) int { return slices.Compare(a[:], b[:]) })
		if n := len(slices.Compact(tokens.claimed)); n != 3 || len(tokens.claimed) != 3 {
			t.Errorf("got %d claims with %d tokens, want 3 with one each", len(tokens.claimed), n)
		}
	})
}

func TestACopyThatHasWaitedLongEnoughAsksTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newFlaky(t)
		var first sync.WaitGroup
		first.Go(func() { b.Deliver(t.Context(), waiting("1"), holdFor(10*time.Second)) })
		synctest.Wait()
		began := time.Now()
		r := b.Deliver(t.Context(), waiting("1"), mustNotRun(t))
		want(t, r, dedup.Deferred, dedup.ErrBusy)
		if took := time.Since(began); took != 5*time.Second || r.Left <= 0 || r.Left > 3*time.Second {
			t.Errorf("took %v with %v left, want BusyWait and the rest of the lease", took, r.Left)
		}
		first.Wait()
	})
}

func TestACopyDoesNotWaitForAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newFlaky(t)
		if _, err := b.store.Claim(t.Context(), claimOf(waiting("1"))); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { want(t, b.Deliver(t.Context(), waiting("1"), mustNotRun(t)), dedup.Deferred, dedup.ErrBusy) })
		}
		both.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestACallbackCannotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newFlaky(t)
		began := time.Now()
		r := b.Deliver(t.Context(), waiting("1"), func(ctx context.Context) error {
			want(t, b.Deliver(ctx, waiting("1"), mustNotRun(t)), dedup.Deferred, dedup.ErrNested)
			for _, r := range [][]dedup.Result{
				b.DeliverEach(ctx, []dedup.Delivery{waiting("1")}, 1, func(context.Context, int) error { return errBoom }),
				b.DeliverTogether(ctx, []dedup.Delivery{waiting("1")}, func(context.Context, []int) error { return errBoom }),
			} {
				want(t, r[0], dedup.Deferred, dedup.ErrNested)
			}
			return nil
		})
		want(t, r, dedup.Ran, nil)
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v, want an error at once", took)
		}
	})
}

func TestBatchesWithCommonKeysDoNotWaitForEachOther(t *testing.T) {
	for name, deliver := range map[string]func(*bench, []dedup.Delivery) []dedup.Result{
		"each": func(b *bench, ds []dedup.Delivery) []dedup.Result {
			return b.DeliverEach(context.Background(), ds, 1, func(ctx context.Context, i int) error {
				return runsKey(ctx, ds[i].Key)
			})
		},
		"together": func(b *bench, ds []dedup.Delivery) []dedup.Result {
			return b.DeliverTogether(context.Background(), ds, func(ctx context.Context, acquired []int) error {
				if len(acquired) == 1 {
					return runsKey(ctx, ds[acquired[0]].Key)
				}
				return holdFor(time.Second)(ctx)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := newFlaky(t)
				began := time.Now()
				var all sync.WaitGroup
				for _, ids := range [][]string{{"1", "a", "2"}, {"2", "b", "1", "1"}} {
					all.Go(func() {
						var ds []dedup.Delivery
						for _, id := range ids {
							ds = append(ds, waiting(id))
						}
						for i, r := range deliver(b, ds) {
							if !r.Outcome.Finished() {
								t.Errorf("%s: got %v, %v", ids[i], r.Outcome, r.Err)
							}
						}
					})
				}
				all.Wait()
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("took %v: batches waited for each other", took)
				}
				ran := 0
				for range 7 {
					if e := <-b.events; e.Outcome == dedup.Ran {
						ran++
					}
				}
				if ran != 4 {
					t.Errorf("got %d runs, want one for each of 4 keys", ran)
				}
			})
		})
	}
}

// runsKey takes a second and fails when its context is not that of k.
func runsKey(ctx context.Context, k store.Key) error {
	if r, _ := dedup.FromContext(ctx); r.Key != k {
		return fmt.Errorf("runs for %v instead of %v", r.Key, k)
	}
	return holdFor(time.Second)(ctx)
}

func TestACopyInABatchRunsAfterTheFirstHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newFlaky(t)
		ds := []dedup.Delivery{waiting("1"), waiting("2"), waiting("3")}
		for name, deliver := range map[string]func(func(i int)) []dedup.Result{
			"each": func(note func(int)) []dedup.Result {
				return b.DeliverEach(t.Context(), ds, 1, func(_ context.Context, i int) error { note(i); return nil })
			},
			"together": func(note func(int)) []dedup.Result {
				return b.DeliverTogether(t.Context(), ds, func(_ context.Context, acquired []int) error {
					for _, i := range acquired {
						note(i)
					}
					return nil
				})
			},
		} {
			for i := range ds {
				ds[i].Key.ID += name
			}
			go b.Deliver(t.Context(), ds[0], func(context.Context) error { time.Sleep(time.Second); return errBoom })
			go b.Deliver(t.Context(), ds[2], func(context.Context) error { time.Sleep(2 * time.Second); return errBoom })
			synctest.Wait()
			var mu sync.Mutex
			var ran []int
			for i, r := range deliver(func(i int) { mu.Lock(); defer mu.Unlock(); ran = append(ran, i) }) {
				if want(t, r, dedup.Ran, nil); (r.Attempt == 2) != (i != 1) {
					t.Errorf("%s, %d: got attempt %d", name, i, r.Attempt)
				}
			}
			if !slices.Equal(ran, []int{1, 0, 2}) {
				t.Errorf("%s: ran %v, want 1 at once and the others after the failures", name, ran)
			}
		}
	})
}

func TestCopiesThatWaitEndWithADrainOrTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newFlaky(t)
		var first, copies sync.WaitGroup
		first.Go(func() { b.Deliver(t.Context(), waiting("1"), holdFor(10*time.Second)) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		copies.Go(func() { want(t, b.Deliver(ctx, waiting("1"), mustNotRun(t)), dedup.Deferred, context.Canceled) })
		copies.Go(func() {
			want(t, b.Deliver(t.Context(), waiting("1"), mustNotRun(t)), dedup.Deferred, dedup.ErrDraining)
		})
		time.Sleep(time.Second)
		began := time.Now()
		cancel()
		synctest.Wait()
		if got := b.Stats().Waiting; got != 1 {
			t.Errorf("waiting: got %d, want 1", got)
		}
		b.StopWaiting()
		copies.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		first.Wait()
	})
}

func TestTheNextLeadsWhenTheCallerOfTheFirstGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newFlaky(t)
		f.Next(storetest.Claim, storetest.Slow)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var first sync.WaitGroup
		first.Go(func() {
			if r := b.Deliver(ctx, waiting("1"), mustNotRun(t)); r.Outcome != dedup.Deferred || errors.Is(r.Err, dedup.ErrBusy) {
				t.Errorf("got %v, %v; want deferred without a claim", r.Outcome, r.Err)
			}
		})
		synctest.Wait()
		want(t, b.Deliver(t.Context(), waiting("1"), succeed), dedup.Ran, nil)
		first.Wait()
	})
}

// tokensOf notes the tokens of claims.
type tokensOf struct {
	store.Store
	mu      sync.Mutex
	claimed []store.Token // guarded by mu
}

func (s *tokensOf) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	s.mu.Lock()
	s.claimed = append(s.claimed, r.Token)
	s.mu.Unlock()
	return s.Store.Claim(ctx, r)
}
