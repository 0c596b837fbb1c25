package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

func TestEachFindingBringsItsKeyToItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		verify  reconcile.Verifier
		want    reconcile.Stats
		status  store.Status
		retried int
	}{
		"happened": {finds(reconcile.Happened, nil),
			reconcile.Stats{Completed: 1}, store.StatusConsumed, 0},
		"not happened": {finds(reconcile.NotHappened, nil),
			reconcile.Stats{Retried: 1}, store.StatusLapsed, 1},
		"unknown": {finds(reconcile.Unknown, nil),
			reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
		"a finding without a name": {finds(7, nil),
			reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
		"happened, and an error": {finds(reconcile.Happened, errors.New("half an answer")),
			reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
		"not happened, and an error": {finds(reconcile.NotHappened, errors.New("half an answer")),
			reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
		"a panic": {func(context.Context, store.Key) (reconcile.Finding, error) { panic("no such table") },
			reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
		"no answer in time": {func(ctx context.Context, _ store.Key) (reconcile.Finding, error) {
			<-ctx.Done()
			return reconcile.Happened, ctx.Err()
		}, reconcile.Stats{Unknown: 1}, store.StatusLapsed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.verify = c.verify
				r := reconciler(t, s, w, reconcile.Options{})
				abandon(t, s, "A1")
				time.Sleep(lease + reconcile.DefaultOverdue)
				c.want.Passes, c.want.Found = 1, 1
				if got := passed(t, r); got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if got := record(t, s, "A1"); got.Status != c.status || c.status == store.StatusLapsed && got.Attempt != 1 {
					t.Errorf("got %+v, want %v, lapsed with 1 attempt", got, c.status)
				}
				if _, got := w.count("A1"); got != c.retried {
					t.Errorf("got %d retries, want %d", got, c.retried)
				}
			})
		})
	}
}

func finds(f reconcile.Finding, err error) reconcile.Verifier {
	return func(context.Context, store.Key) (reconcile.Finding, error) { return f, err }
}

// One function serves consumers and reconcilers only as long as the types are one.
func TestConsumersAndReconcilersHaveOneVerifier(t *testing.T) {
	t.Parallel()
	type pair [2]reflect.Type
	for _, types := range []pair{
		{reflect.TypeFor[dedup.Verifier](), reflect.TypeFor[reconcile.Verifier]()},
		{reflect.TypeFor[dedup.Finding](), reflect.TypeFor[reconcile.Finding]()},
		{reflect.TypeOf(dedup.Unknown), reflect.TypeOf(reconcile.Unknown)},
	} {
		if types[0] != types[1] {
			t.Errorf("%v and %v are two types, want one", types[0], types[1])
		}
	}
	for in, here := range map[store.Finding]store.Finding{
		dedup.Unknown: reconcile.Unknown, dedup.Happened: reconcile.Happened, dedup.NotHappened: reconcile.NotHappened,
	} {
		if in != here {
			t.Errorf("package dedup says %d, package reconcile %d, want one answer", in, here)
		}
	}
}

func TestARetriedKeyIsFreeWhenRetryIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		w.answer("A1", reconcile.NotHappened)
		consumer := store.NewToken()
		w.retry = func(context.Context, store.Key) error {
			if v := take(t, s, "A1", consumer); v.State != store.Claimed || v.Attempt != 2 {
				t.Errorf("the consumer got %+v, want attempt 2", v)
			}
			return nil
		}
		r := reconciler(t, s, w, reconcile.Options{})
		abandon(t, s, "A1")
		time.Sleep(time.Hour)
		passed(t, r)
		if got := record(t, s, "A1"); got.Token != consumer || got.Status != store.StatusConsuming {
			t.Errorf("got %+v, want the consumer's claim untouched", got)
		}
	})
}

func TestOnlyWhatIsOverdueIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		r := reconciler(t, s, w, reconcile.Options{Application: "billing", Overdue: time.Minute})
		other := store.Key{Application: "shipping", Topic: "orders", ID: "other"}
		token := store.NewToken()
		request := store.ClaimRequest{Key: other, Token: token, Lease: lease, Horizon: horizon}
		if _, err := s.Claim(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		abandon(t, s, "overdue")
		unran := store.NewToken()
		take(t, s, "never begun", unran)
		if err := s.Release(t.Context(), keyOf("never begun"), unran, false); err != nil {
			t.Fatal(err)
		}
		done := store.NewToken()
		take(t, s, "done", done)
		if _, err := s.Complete(t.Context(), keyOf("done"), done, time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lease + time.Millisecond)
		abandon(t, s, "running")
		time.Sleep(lease)
		abandon(t, s, "running too")
		time.Sleep(time.Minute - lease - time.Millisecond - time.Nanosecond)
		want := reconcile.Stats{Passes: 1, Found: 1, Skipped: 1} // what was never begun
		if got := passed(t, r); got != want {
			t.Errorf("a moment too early: got %+v, want %+v", got, want)
		}
		time.Sleep(time.Nanosecond)
		want = reconcile.Stats{Passes: 1, Found: 2, Skipped: 1, Unknown: 1}
		if got := passed(t, r); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for id, want := range map[string]int{
			"overdue": 1, "running": 0, "running too": 0, "done": 0, "never begun": 0, "other": 0,
		} {
			if asked, _ := w.count(id); asked != want {
				t.Errorf("%s: asked about %d times, want %d", id, asked, want)
			}
		}
	})
}

func TestAnUndecidedKeyIsReportedWithItsWholeAgeAndWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		var log bytes.Buffer
		r := reconciler(t, s, w, reconcile.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		abandon(t, s, "A1")
		time.Sleep(lease + time.Hour)
		for i := range 5 {
			got, err := r.Pass(t.Context())
			if want := time.Duration(i+1) * time.Hour; err != nil || got.Oldest != want {
				t.Errorf("pass %d: got %v, %v, want %v", i+1, got.Oldest, err, want)
			}
			time.Sleep(time.Hour)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 6 || !strings.Contains(lines[0], "key=billing:orders::A1 age=1h0m0s attempts=1") ||
			!strings.Contains(lines[5], "level=WARN") || !strings.Contains(lines[5], "unknown=1") {
			t.Errorf("got the log\n%swant a warning of the key, and one of each pass", log.String())
		}
	})
}

func TestAKeyThatIsKnownByItsDigestIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		r := reconciler(t, s, w, reconcile.Options{})
		abandon(t, s, strings.Repeat("x", store.MaxPart+1))
		time.Sleep(lease + time.Hour)
		got, err := r.Pass(t.Context())
		if err != nil || got.Found != 1 || got.Unknown != 1 || got.Oldest != time.Hour || len(w.asked) != 0 {
			t.Errorf("got %+v, %v, want one unknown for an hour that nobody is asked about", got, err)
		}
		if s.Len() != 1 {
			t.Errorf("got %d records, want no other", s.Len())
		}
	})
}

func TestRetryIsNotCalledForOneKeyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		w.answer("A1", reconcile.NotHappened)
		r := reconciler(t, s, w, reconcile.Options{RetryAgain: 2})
		abandon(t, s, "A1")
		time.Sleep(time.Hour)
		for range 5 {
			passed(t, r)
			time.Sleep(time.Hour)
		}
		total := r.Stats()
		if _, retried := w.count("A1"); retried != 2 || total.Retried != 2 || total.GivenUp != 3 || total.Passes != 5 {
			t.Errorf("got %d retries and %+v, want 2 and then 3 times given up", retried, total)
		}
	})
}

func TestALaterLifeOfAKeyIsRetriedAnew(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *memstore.Store, w *world, r *reconcile.Reconciler){
		"after the reconciler has completed it": func(t *testing.T, _ *memstore.Store, w *world, r *reconcile.Reconciler) {
			w.answer("A1", reconcile.Happened)
			if got := passed(t, r); got.Completed != 1 {
				t.Errorf("got %+v, want it completed although it was given up", got)
			}
			w.answer("A1", reconcile.NotHappened)
			time.Sleep(time.Hour)
		},
		"after a consumer has completed it": func(t *testing.T, s *memstore.Store, _ *world, _ *reconcile.Reconciler) {
			token := store.NewToken()
			take(t, s, "A1", token)
			if _, err := s.Complete(t.Context(), keyOf("A1"), token, reconcile.DefaultKeep); err != nil {
				t.Error(err)
			}
			time.Sleep(reconcile.DefaultKeep)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.answer("A1", reconcile.NotHappened)
				r := reconciler(t, s, w, reconcile.Options{RetryAgain: 1, Keep: time.Hour})
				abandon(t, s, "A1")
				for _, want := range []reconcile.Stats{{Retried: 1}, {GivenUp: 1}} {
					time.Sleep(time.Hour)
					if got := passed(t, r); got.Retried != want.Retried || got.GivenUp != want.GivenUp {
						t.Errorf("got %+v, want %+v", got, want)
					}
				}
				time.Sleep(time.Hour)
				end(t, s, w, r)
				abandon(t, s, "A1")
				time.Sleep(time.Hour)
				if got := passed(t, r); got.Retried != 1 {
					t.Errorf("got %+v for a later life of the key, want a retry", got)
				}
			})
		})
	}
}

func TestARetryThatFailsIsRepeatedWhenTheKeyIsOverdueAgain(t *testing.T) {
	for name, retry := range map[string]func(context.Context, store.Key) error{
		"an error": func(context.Context, store.Key) error { return errors.New("no route") },
		"a panic":  func(context.Context, store.Key) error { panic("no route") },
		"no answer": func(ctx context.Context, _ store.Key) error {
			<-ctx.Done()
			return errors.New("no route")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				w.answer("A1", reconcile.NotHappened)
				w.retry = retry
				r := reconciler(t, s, w, reconcile.Options{RetryAgain: 1})
				abandon(t, s, "A1")
				time.Sleep(time.Hour)
				for range 3 {
					got, err := r.Pass(t.Context())
					if err == nil || !strings.Contains(err.Error(), "billing:orders::A1: retry:") ||
						!strings.Contains(err.Error(), "no route") || got.Failed != 1 || got.Retried != 0 {
						t.Errorf("got %+v, %v, want a failure that names the key", got, err)
					}
					if got := passed(t, r); got.Found != 0 {
						t.Errorf("got %+v at once, want a pause", got)
					}
					time.Sleep(reconcile.DefaultOverdue)
				}
				w.retry = nil
				if got := passed(t, r); got.Retried != 1 {
					t.Errorf("got %+v, want the retry that has not succeeded yet", got)
				}
			})
		})
	}
}
