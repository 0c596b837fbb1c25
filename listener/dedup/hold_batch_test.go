package dedup_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestABatchIsHeldTogether(t *testing.T) {
	for name, deliver := range map[string]func(*bench, []dedup.Delivery) []dedup.Result{
		"each": func(b *bench, ds []dedup.Delivery) []dedup.Result {
			return b.DeliverEach(context.Background(), ds, 4, func(context.Context, int) error { return nil })
		},
		"together": func(b *bench, ds []dedup.Delivery) []dedup.Result {
			return b.DeliverTogether(context.Background(), ds, func(context.Context, []int) error { return nil })
		},
	} {
		for how, f := range losses {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, l := newLossy(t, f)
					ds := make([]dedup.Delivery, 100)
					for i := range ds {
						ds[i] = dedup.Delivery{Key: key(strconv.Itoa(i))}
					}
					l.goAway(time.Minute)
					began := time.Now()
					for i, r := range deliver(b, ds) {
						if r.Outcome != dedup.Ran || r.Attempt != 1 {
							t.Fatalf("%d: got %+v, want ran at attempt 1", i, r)
						}
					}
					if late := time.Since(began) - time.Minute; late > 2*time.Second {
						t.Errorf("ended %v after the store came back", late)
					}
					if n := l.claimsOfBatch[len(l.claimsOfBatch)-1]; n != len(ds) {
						t.Errorf("the last turn claimed %d at once, want %d", n, len(ds))
					}
				})
			})
		}
	}
}

func TestABatchThatIsNoCallTakesItsTurnsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newLossy(t, losses["black hole"])
		g, err := dedup.New(struct{ store.Store }{l}, dedup.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ds := make([]dedup.Delivery, 100)
		for i := range ds {
			ds[i] = dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: dedup.FixedLease(time.Minute)}
		}
		l.set(true)
		time.AfterFunc(10*time.Second, func() { l.set(true) }) // all are held
		time.AfterFunc(60*time.Second, func() {
			if l.mu.Lock(); l.asked > 50 || l.busiest > 1 {
				t.Errorf("got %d calls in 50 seconds, %d at once; want about one a second, alone", l.asked, l.busiest)
			}
			l.mu.Unlock()
			l.set(false)
		})
		began := time.Now()
		for i, r := range g.DeliverEach(t.Context(), ds, 4, func(context.Context, int) error { return nil }) {
			if r.Outcome != dedup.Ran {
				t.Fatalf("%d: got %+v, want ran", i, r)
			}
		}
		if late := time.Since(began) - time.Minute; late > 2*time.Second {
			t.Errorf("ended %v after the store came back", late)
		}
	})
}

func TestHeldMessagesOfABatchKeepNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &halfLost{}
		b := newBench(t, func(s store.Store) store.Store { l.Store = s.(*memstore.Store); return l })
		time.AfterFunc(30*time.Second, func() { l.back.Store(true) })
		impatient := dedup.Policy{Outage: dedup.OutageRetry}
		ds := []dedup.Delivery{{Key: key("lost")}, {Key: key("1")}, {Key: key("2"), Policy: impatient}}
		ran := make([]time.Time, len(ds))
		began := time.Now()
		results := b.DeliverEach(t.Context(), ds, 1, func(_ context.Context, i int) error {
			ran[i] = time.Now()
			return nil
		})
		for i, r := range results {
			want(t, r, dedup.Ran, nil)
			if took := ran[i].Sub(began); (took > 5*time.Second) != (i == 0) {
				t.Errorf("%d ran after %v", i, took)
			}
		}
	})
}

func TestWhatIsGrantedInAHeldBatchIsNotLostAgain(t *testing.T) {
	const back, later = 20 * time.Second, 80 * time.Second
	for name, c := range map[string]struct {
		first   time.Duration // when the message that is back first runs
		deliver func(b *bench, ds []dedup.Delivery, ran func(i int)) []dedup.Result
	}{
		"each": {back, func(b *bench, ds []dedup.Delivery, ran func(int)) []dedup.Result {
			return b.DeliverEach(context.Background(), ds, 4, func(_ context.Context, i int) error { ran(i); return nil })
		}},
		"together": {later, func(b *bench, ds []dedup.Delivery, ran func(int)) []dedup.Result {
			return b.DeliverTogether(context.Background(), ds, func(_ context.Context, acquired []int) error {
				for _, i := range acquired {
					ran(i)
				}
				return nil
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &halfLost{}
				b := newBench(t, func(s store.Store) store.Store { l.Store = s.(*memstore.Store); return l })
				time.AfterFunc(back, func() { l.back.Store(true) })
				time.AfterFunc(later, func() { l.later.Store(true) })
				began := time.Now()
				ds := []dedup.Delivery{{Key: key("1")}, {Key: key("lost")}, {Key: key("lost for longer")}}
				var ran [3]time.Duration
				for _, r := range c.deliver(b, ds, func(i int) { ran[i] = time.Since(began) }) {
					want(t, r, dedup.Ran, nil)
				}
				for i, at := range map[int]time.Duration{1: c.first, 2: later} {
					if late := ran[i] - at; late < 0 || late > 2*time.Second {
						t.Errorf("%d ran after %v, want soon after %v", i, ran[i], at)
					}
				}
			})
		})
	}
}
