package dedup_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

var errBoom = errors.New("boom")

func key(id string) store.Key {
	return store.Key{Application: "orders", Topic: "created", Tag: "eu", ID: id}
}

// short is a policy for fake time: lease 3 s, max consume 20 s.
func short() dedup.Policy { return dedup.Policy{Lease: 3 * time.Second, MaxConsume: 20 * time.Second} }

// bench is a guard on a fresh store, and the events that it reported.
type bench struct {
	*dedup.Guard
	store   *memstore.Store
	events  chan dedup.Event
	journal int // successes that are to be left at the end
}

func newBench(t *testing.T, wrap func(store.Store) store.Store) *bench {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{store: mem, events: make(chan dedup.Event, 5000)}
	var s store.Store = mem
	if wrap != nil {
		s = wrap(mem)
	}
	b.Guard, err = dedup.New(s, dedup.Options{
		Logger: slog.New(slog.DiscardHandler),
		Observer: dedup.ObserverFunc(func(_ context.Context, e dedup.Event) {
			select {
			case b.events <- e:
			default: // a test that makes so many counts them itself
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s := b.Stats(); s != (dedup.Stats{Journal: b.journal}) {
			t.Errorf("gauges at the end: got %+v, want zero and %d in the journal", s, b.journal)
		}
	})
	return b
}

// endUnrecorded ends the guard with n successes that the store does not take.
func (b *bench) endUnrecorded(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.journal = n
	if err := b.Flush(ctx); err == nil || !strings.Contains(err.Error(), strconv.Itoa(n)+" successes") {
		t.Errorf("flush: got %v, want %d successes left", err, n)
	}
}

func want(t *testing.T, r dedup.Result, outcome dedup.Outcome, err error) {
	t.Helper()
	if r.Outcome != outcome || !errors.Is(r.Err, err) {
		t.Fatalf("got %v, %v; want %v, %v", r.Outcome, r.Err, outcome, err)
	}
}

func succeed(context.Context) error { return nil }
func fail(context.Context) error    { return errBoom }

func mustNotRun(t *testing.T) func(context.Context) error {
	return func(context.Context) error {
		t.Error("the callback ran")
		return nil
	}
}

func TestACopyOfFinishedWorkIsSkippedUntilKeepEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{Keep: time.Hour}}
		first := b.Deliver(t.Context(), d, succeed)
		want(t, first, dedup.Ran, nil)
		if first.Completion != store.Completed || first.Attempt != 1 {
			t.Fatalf("got %+v, want completed at attempt 1", first)
		}
		time.Sleep(59 * time.Minute)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
		time.Sleep(2 * time.Minute)
		want(t, b.Deliver(t.Context(), d, succeed), dedup.Ran, nil)
	})
}

func TestACopyOfRunningWorkIsDeferredWithTheRemainingLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			time.Sleep(500 * time.Millisecond)
			copied := b.Deliver(context.Background(), d, mustNotRun(t))
			want(t, copied, dedup.Deferred, dedup.ErrBusy)
			if copied.Left != 2500*time.Millisecond {
				t.Errorf("left: got %v, want 2.5s", copied.Left)
			}
			return nil
		})
		want(t, r, dedup.Ran, nil)
	})
}

func TestAFailedCallbackRunsAgainAtOnceAsTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		again := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			running, ok := dedup.FromContext(ctx)
			if !ok || running.Attempt != 2 || running.Key != d.Key {
				t.Errorf("running: got %+v, %t", running, ok)
			}
			return nil
		})
		want(t, again, dedup.Ran, nil)
	})
}

func TestPanicsAndGoexitBecomeErrorsAndReleaseTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(context.Context) error { panic(errBoom) })
		want(t, r, dedup.Failed, errBoom)
		var p *dedup.PanicError
		if !errors.As(r.Err, &p) || !strings.Contains(string(p.Stack), "TestPanicsAndGoexit") {
			t.Fatalf("got %v, want a PanicError with the callback's stack", r.Err)
		}
		r = b.Deliver(t.Context(), d, func(context.Context) error { runtime.Goexit(); return nil })
		want(t, r, dedup.Failed, dedup.ErrGoexit)
		want(t, b.Deliver(t.Context(), d, succeed), dedup.Ran, nil)
	})
}

func TestACallbackLongerThanItsLeaseIsRenewedAndRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			for range 19 {
				time.Sleep(time.Second)
				want(t, b.Deliver(context.Background(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrBusy)
			}
			return ctx.Err()
		})
		want(t, r, dedup.Ran, nil)
		if r.Cancelled {
			t.Error("the context was cancelled before max consume")
		}
	})
}

func TestMaxConsumeCancelsThenStopsRenewing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != 20*time.Second || context.Cause(ctx) != dedup.ErrMaxConsume {
				t.Errorf("cancelled after %v by %v, want 20s, max consume", took, context.Cause(ctx))
			}
			time.Sleep(4 * time.Second) // the grace of one lease is over, the last renewal is not
			if got := b.Stats(); got.Orphaned != 1 {
				t.Errorf("gauges: got %+v, want one orphan", got)
			}
			time.Sleep(3 * time.Second)
			want(t, b.Deliver(context.Background(), d, succeed), dedup.Ran, nil)
			return nil
		})
		want(t, r, dedup.Ran, nil)
		if r.Completion != store.AlreadyDone || !r.Cancelled {
			t.Errorf("got %+v, want already done and cancelled", r)
		}
	})
}

func TestALateFailureReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s store.Store) store.Store { return noRenewals{s} })
		d := dedup.Delivery{Key: key("1"), Policy: dedup.FixedLease(3 * time.Second)}
		taken := make(chan dedup.Result, 1)
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			<-ctx.Done()
			if context.Cause(ctx) != dedup.ErrMaxConsume {
				t.Errorf("cause: got %v, want max consume", context.Cause(ctx))
			}
			go func() {
				taken <- b.Deliver(context.Background(), d, func(context.Context) error {
					time.Sleep(2 * time.Second)
					want(t, b.Deliver(context.Background(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrBusy)
					return nil
				})
			}()
			time.Sleep(time.Second)
			return errBoom
		})
		want(t, r, dedup.Failed, errBoom)
		want(t, <-taken, dedup.Ran, nil)
	})
}

func TestALostLeaseCancelsTheCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			// Somebody else completes the key: the next renewal finds out.
			if _, err := b.store.Complete(ctx, d.Key, store.NewToken(), time.Hour); err != nil {
				t.Error(err)
			}
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != time.Second || context.Cause(ctx) != dedup.ErrLeaseLost {
				t.Errorf("cancelled after %v by %v, want a third of the lease, lease lost", took, context.Cause(ctx))
			}
			return ctx.Err()
		})
		want(t, r, dedup.Failed, context.Canceled)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestPermanentParksTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(context.Context) error { return dedup.Permanent(errBoom) })
		want(t, r, dedup.Failed, errBoom)
		if !dedup.IsPermanent(r.Err) || dedup.IsPermanent(errBoom) || dedup.Permanent(nil) != nil {
			t.Error("permanence is not told by IsPermanent")
		}
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrParked)
	})
}

func TestAKeyThatKeepsFailingIsParkedAfterMaxAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		p := short()
		p.MaxAttempts = 2
		d := dedup.Delivery{Key: key("1"), Policy: p}
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrParked)
	})
}

func TestTheVerifierIsAskedBeforeATakeOver(t *testing.T) {
	for _, c := range []struct {
		name    string
		finding dedup.Finding
		err     error
		outcome dedup.Outcome
		reason  error
		ran     bool
	}{
		{"happened completes without a run", dedup.Happened, nil, dedup.Skipped, nil, false},
		{"not happened runs", dedup.NotHappened, nil, dedup.Ran, nil, true},
		{"unknown defers", dedup.Unknown, nil, dedup.Deferred, dedup.ErrUnverified, false},
		{"an error defers", dedup.Happened, errBoom, dedup.Deferred, errBoom, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil)
				p := short()
				p.Verifier = func(_ context.Context, k store.Key) (dedup.Finding, error) {
					time.Sleep(10 * time.Second) // longer than the lease
					return c.finding, c.err
				}
				d := dedup.Delivery{Key: key("1"), Policy: p}
				want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
				ran := false
				r := b.Deliver(t.Context(), d, func(context.Context) error { ran = true; return nil })
				want(t, r, c.outcome, c.reason)
				if ran != c.ran {
					t.Errorf("ran: got %t, want %t", ran, c.ran)
				}
			})
		})
	}
}

func TestADeferredTakeOverGivesItsAttemptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		p := short()
		d := dedup.Delivery{Key: key("1"), Policy: p}
		want(t, b.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
		d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) { return dedup.Unknown, nil }
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Deferred, dedup.ErrUnverified)
		d.Policy.Verifier = nil
		if r := b.Deliver(t.Context(), d, succeed); r.Attempt != 2 {
			t.Errorf("attempt: got %d, want 2", r.Attempt)
		}
	})
}

func TestACallbackCannotDeliverItsOwnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		r := b.Deliver(t.Context(), d, func(ctx context.Context) error {
			want(t, b.Deliver(ctx, d, mustNotRun(t)), dedup.Deferred, dedup.ErrNested)
			other := dedup.Delivery{Key: key("2"), Policy: short()}
			return b.Deliver(ctx, other, func(ctx context.Context) error {
				want(t, b.Deliver(ctx, d, mustNotRun(t)), dedup.Deferred, dedup.ErrNested)
				return nil
			}).Err
		})
		want(t, r, dedup.Ran, nil)
	})
}

func TestSuccessIsRecordedAlthoughTheCallerIsShuttingDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		want(t, b.Deliver(ctx, d, func(context.Context) error { cancel(); return nil }), dedup.Ran, nil)
		want(t, b.Deliver(ctx, d, mustNotRun(t)), dedup.Deferred, context.Canceled)
		want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil)
	})
}

func TestABatchRunsOnceForTheAcquiredMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		var ds []dedup.Delivery
		for _, id := range []string{"a", "b", "c", "d"} {
			ds = append(ds, dedup.Delivery{Key: key(id), Policy: short()})
		}
		want(t, b.Deliver(t.Context(), ds[1], succeed), dedup.Ran, nil)
		var calls atomic.Int32
		results := b.DeliverTogether(t.Context(), ds, func(ctx context.Context, acquired []int) error {
			calls.Add(1)
			if len(acquired) != 3 || acquired[0] != 0 || acquired[1] != 2 || acquired[2] != 3 {
				t.Errorf("acquired: got %v, want [0 2 3]", acquired)
			}
			time.Sleep(10 * time.Second)
			return ctx.Err()
		})
		for i, outcome := range []dedup.Outcome{dedup.Ran, dedup.Skipped, dedup.Ran, dedup.Ran} {
			want(t, results[i], outcome, nil)
		}
		b.DeliverTogether(t.Context(), ds, func(context.Context, []int) error {
			t.Error("the callback ran without an acquired message")
			return nil
		})
		if calls.Load() != 1 {
			t.Errorf("calls: got %d, want 1", calls.Load())
		}
	})
}

// noRenewals hides every optional ability of a store.
type noRenewals struct{ store.Store }
