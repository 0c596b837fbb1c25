package dedup_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// losing succeeds and loses the store for d as it does so.
func losing(l *lossy, d time.Duration) func(context.Context) error {
	return func(context.Context) error { l.goAway(d); return nil }
}

func TestASuccessWaitsUntilTheStoreTakesIt(t *testing.T) {
	for name, f := range losses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newLossy(t, f)
				began := time.Now()
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, losing(l, time.Minute))
				want(t, r, dedup.Ran, nil)
				if r.Unrecorded || r.Completion == 0 || r.Left != 0 {
					t.Errorf("got %+v, want recorded", r)
				}
				if late := time.Since(began) - time.Minute; f.After == 0 && late < 0 || late > 2*time.Second {
					t.Errorf("recorded %v after the store came back", late)
				}
			})
		})
	}
}

func TestASuccessIsAcknowledgedInTimeAndRecordedLater(t *testing.T) {
	const limit, settle = 20 * time.Second, dedup.DefaultSettleTimeout
	for name, c := range map[string]struct {
		outage     dedup.Outage
		maxConsume time.Duration
		held, want time.Duration
	}{
		"hold":                         {dedup.OutageHold, time.Minute, 0, limit},
		"hold, after a long wait":      {dedup.OutageHold, 15 * time.Second, 14 * time.Second, limit},
		"hold, after all of its time":  {dedup.OutageHold, 15 * time.Second, 35 * time.Second, 0},
		"retry":                        {dedup.OutageRetry, time.Minute, 0, settle},
		"run, but it had been claimed": {dedup.OutageRun, time.Minute, 0, settle},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newLossy(t, losses["refused"])
				d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{
					Lease: 10 * time.Second, MaxConsume: c.maxConsume, Outage: c.outage, HoldLimit: limit,
				}}
				var returned time.Time
				r := b.Deliver(t.Context(), d, func(context.Context) error {
					time.Sleep(c.held)
					returned = time.Now()
					l.goAway(time.Minute)
					return nil
				})
				if want(t, r, dedup.Ran, storetest.ErrCutBefore); !r.Unrecorded {
					t.Errorf("got %+v, want unrecorded", r)
				}
				if took := time.Since(returned); took < c.want || took > c.want+10*time.Millisecond {
					t.Errorf("acknowledged after %v, want %v", took, c.want)
				}
				if left := 10*time.Second - c.want; r.Left > max(0, left) {
					t.Errorf("left: got %v, want at most %v", r.Left, left)
				}
				calls := len(l.claims)
				want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
				if b.Stats().Journal != 1 || len(l.claims) != calls {
					t.Errorf("got %d in the journal, %d claims for a copy; want 1 and none", b.Stats().Journal, len(l.claims)-calls)
				}
				time.Sleep(2 * time.Minute)
				if v, err := b.store.Claim(t.Context(), claimOf(d)); err != nil || v.State != store.Done || b.Stats().Journal != 0 {
					t.Errorf("afterwards: got %v, %v, %+v; want done and an empty journal", v.State, err, b.Stats())
				}
			})
		})
	}
}

func TestASuccessWithoutAClaimDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.goAway(time.Minute)
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{Outage: dedup.OutageRun, Verifier: mustNotAsk(t)}}
		began := time.Now()
		r := b.Deliver(t.Context(), d, succeed)
		if want(t, r, dedup.Ran, storetest.ErrCutBefore); !r.Unprotected || !r.Unrecorded || r.Left != 0 {
			t.Errorf("got %+v, want unprotected and unrecorded", r)
		}
		if took := time.Since(began); took > dedup.DefaultClaimTimeout+time.Second {
			t.Errorf("took %v", took)
		}
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
		time.Sleep(2 * time.Minute)
		if v, err := b.store.Claim(t.Context(), claimOf(d)); err != nil || v.State != store.Done {
			t.Errorf("afterwards: got %v, %v; want done", v.State, err)
		}
	})
}

func TestWithAVerifierOnlyARecordedSuccessIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{
			Lease: 40 * time.Second, HoldLimit: 20 * time.Second, Verifier: mustNotAsk(t),
		}}
		r := b.Deliver(t.Context(), d, losing(l, time.Minute))
		want(t, r, dedup.Deferred, storetest.ErrCutBefore)
		if !r.Unrecorded || r.Left < 19*time.Second || r.Left > 20*time.Second {
			t.Errorf("got %+v, want unrecorded with the rest of the lease", r)
		}
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrUnrecorded)
		time.Sleep(time.Minute)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestThousandsOfSuccessesAreRecordedInFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["black hole"])
		const n = 2000
		var all, ready sync.WaitGroup
		ready.Add(n + 1)
		for i := range n {
			all.Go(func() {
				r := b.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i))}, func(context.Context) error {
					ready.Done()
					ready.Wait()
					return nil
				})
				if r.Outcome != dedup.Ran || r.Unrecorded {
					t.Errorf("got %+v", r)
				}
			})
		}
		time.Sleep(time.Second) // all run
		l.set(true)
		ready.Done()
		time.Sleep(10 * time.Second)
		if got := b.Stats().Journal; got != n {
			t.Errorf("journal: got %d, want all %d", got, n)
		}
		l.set(true)
		time.Sleep(time.Minute)
		l.mu.Lock()
		if l.asked > 60 || l.busiest > 1 {
			t.Errorf("got %d calls in a minute, %d at once; want about one a second, alone", l.asked, l.busiest)
		}
		l.mu.Unlock()
		l.set(false)
		time.Sleep(2 * time.Second)
		if got := b.Stats().Journal; got != 0 || l.asked > 20 {
			t.Errorf("got %d in the journal after two seconds and %d calls, want none after a few", got, l.asked)
		}
		all.Wait()
	})
}

func TestABatchWaitsForItsRecordsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		ds := make([]dedup.Delivery, 100)
		for i := range ds {
			ds[i] = dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: dedup.Policy{HoldLimit: 20 * time.Second}}
		}
		began := time.Now()
		for _, r := range b.DeliverEach(t.Context(), ds, 8, func(context.Context, int) error {
			l.set(true)
			return nil
		}) {
			if want(t, r, dedup.Ran, storetest.ErrCutBefore); !r.Unrecorded {
				t.Errorf("got %+v, want unrecorded", r)
			}
		}
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("took %v, want one hold limit for all", took)
		}
		if got := b.Stats().Journal; got != len(ds) {
			t.Errorf("journal: got %d, want %d", got, len(ds))
		}
		l.set(false)
		time.Sleep(time.Second)
	})
}

func TestAFullJournalStopsClaiming(t *testing.T) {
	for name, c := range map[string]struct {
		outage dedup.Outage
		want   dedup.Outcome
		err    error
	}{
		"hold": {dedup.OutageHold, dedup.Ran, nil}, "retry": {dedup.OutageRetry, dedup.Deferred, dedup.ErrJournalFull},
		"run": {dedup.OutageRun, dedup.Ran, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem, err := memstore.New(memstore.Options{})
				if err != nil {
					t.Fatal(err)
				}
				s := &noCompletes{Store: mem}
				g, err := dedup.New(s, dedup.Options{JournalLimit: 2, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				p := dedup.Policy{HoldLimit: time.Millisecond}
				s.refuse.Store(true)
				for i := range 2 {
					r := g.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: p}, succeed)
					want(t, r, dedup.Ran, errBoom)
				}
				time.AfterFunc(20*time.Second, func() { s.refuse.Store(false) })
				for n, deliver := range []func(dedup.Delivery) dedup.Result{
					func(d dedup.Delivery) dedup.Result { return g.Deliver(t.Context(), d, succeed) },
					func(d dedup.Delivery) dedup.Result {
						more := d
						more.Key.ID += "+"
						ds := []dedup.Delivery{d, more}
						return g.DeliverEach(t.Context(), ds, 2, func(context.Context, int) error { return nil })[0]
					},
				} {
					began, claims := time.Now(), s.claims.Load()
					r := deliver(dedup.Delivery{Key: key(fmt.Sprint("more", n)), Policy: dedup.Policy{Outage: c.outage}})
					want(t, r, c.want, c.err)
					if took := time.Since(began); c.outage == dedup.OutageHold && n == 0 && took < 15*time.Second {
						t.Errorf("ran after %v, want held until there is room", took)
					}
					if c.want == dedup.Deferred && s.claims.Load() != claims {
						t.Error("a claim was sent")
					}
				}
				time.Sleep(time.Minute)
				if got := g.Stats(); got != (dedup.Stats{}) {
					t.Errorf("gauges at the end: got %+v", got)
				}
			})
		})
	}
}

func TestUnprotectedSuccessesFindNoRoomInAFullJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		g, err := dedup.New(struct{ store.Store }{l}, dedup.Options{JournalLimit: 2, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l.set(true)
		for i := range 5 {
			d := dedup.Delivery{Key: key(strconv.Itoa(i)), Policy: dedup.Policy{Outage: dedup.OutageRun}}
			if r := g.Deliver(t.Context(), d, succeed); r.Outcome != dedup.Ran || !r.Unrecorded {
				t.Errorf("%d: got %+v, want ran and unrecorded", i, r)
			}
		}
		if got := g.Stats().Journal; got != 2 {
			t.Errorf("journal: got %d, want its limit", got)
		}
		l.set(false)
		time.Sleep(time.Second)
		b.journal = 0
	})
}

func TestADrainEndsTheWaitForARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		time.AfterFunc(10*time.Second, b.StopWaiting)
		began := time.Now()
		r := b.Deliver(t.Context(), dedup.Delivery{Key: key("1")}, losing(l, time.Minute))
		if want(t, r, dedup.Ran, dedup.ErrDraining); !r.Unrecorded {
			t.Errorf("got %+v, want unrecorded", r)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("took %v", took)
		}
		if err := b.Flush(t.Context()); err != nil {
			t.Errorf("flush: got %v, want all recorded", err)
		}
		if took := time.Since(began); took < time.Minute || took > 62*time.Second {
			t.Errorf("flushed after %v, want soon after the store came back", took)
		}
	})
}

func TestAFlushReportsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["black hole"])
		l.set(true)
		p := dedup.Policy{Outage: dedup.OutageRun}
		b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed)
		b.Deliver(t.Context(), dedup.Delivery{Key: key("2"), Policy: p}, succeed)
		b.endUnrecorded(t, 2)
		b.endUnrecorded(t, 2) // once more is no mistake
		b.Deliver(t.Context(), dedup.Delivery{Key: key("3"), Policy: p}, succeed)
		if got := b.Stats().Journal; got != 2 {
			t.Errorf("journal: got %d, want no more than before", got)
		}
	})
}

func TestAFlushOfNothingIsNoError(t *testing.T) {
	if err := newBench(t, nil).Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

func mustNotAsk(t *testing.T) dedup.Verifier {
	return func(context.Context, store.Key) (dedup.Finding, error) {
		t.Error("the Verifier was asked")
		return dedup.Unknown, nil
	}
}

// noCompletes refuses completes for a while.
type noCompletes struct {
	*memstore.Store
	refuse atomic.Bool
	claims atomic.Int32
}

func (s *noCompletes) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	s.claims.Add(1)
	return s.Store.Claim(ctx, r)
}

func (s *noCompletes) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	s.claims.Add(1)
	return s.Store.ClaimBatch(ctx, rs)
}

func (s *noCompletes) Complete(ctx context.Context, k store.Key, t store.Token, d time.Duration) (store.Completion, error) {
	if s.refuse.Load() {
		return 0, errBoom
	}
	return s.Store.Complete(ctx, k, t, d)
}

func (s *noCompletes) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	if !s.refuse.Load() {
		return s.Store.SettleBatch(ctx, ss)
	}
	answers := make([]store.SettleAnswer, len(ss))
	for i := range answers {
		answers[i].Err = errBoom
	}
	return answers
}
