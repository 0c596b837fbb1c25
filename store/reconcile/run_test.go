package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

func TestRunMakesPassesUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		r := reconciler(t, s, w, reconcile.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		if got := r.Stats(); got.Passes != 1 || !got.LastPass.Equal(time.Now()) {
			t.Errorf("got %+v at the start, want a pass at once", got)
		}
		if err := r.Run(ctx); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Errorf("a second Run: got %v, want it refused", err)
		}
		if _, err := r.Pass(ctx); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Errorf("a Pass meanwhile: got %v, want it refused", err)
		}
		time.Sleep(1000 * time.Minute)
		if got := r.Stats().Passes; got < 900 || got > 1100 {
			t.Errorf("got %d passes in 1000 minutes, want about as many", got)
		}
		cancel()
		at := time.Now()
		if err := <-ended; err != nil || !time.Now().Equal(at) {
			t.Errorf("Run returned %v %v after its context had ended, want nil at once", err, time.Since(at))
		}
		if err := r.Run(ctx); err != nil || r.Stats().Err != nil {
			t.Errorf("Run after that: got %v, want nil and nothing done", err)
		}
	})
}

func TestUnknownKeysAreAskedAboutOncePerOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		r := reconciler(t, s, w, reconcile.Options{Every: time.Second})
		abandon(t, s, "A1")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if asked, _ := w.count("A1"); asked < 58 || asked > 60 {
			t.Errorf("asked %d times in 10 hours, want about every ten minutes", asked)
		}
		if got := record(t, s, "A1"); got.Status != store.StatusLapsed || got.Attempt != 1 {
			t.Errorf("got %+v, want it remembered beyond its first horizon, with one attempt", got)
		}
	})
}

func TestAPassTakesNoMoreThanPerPassAndTheNextGoesOnThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		r := reconciler(t, s, w, reconcile.Options{Batch: 3, PerPass: 10, Overdue: time.Minute})
		all := ids(25)
		for _, id := range all {
			abandon(t, s, id)
		}
		for i, want := range []int64{9, 9, 7} { // no page may go beyond 10
			time.Sleep(lease + time.Minute) // all are overdue again
			if got := passed(t, r); got.Found != want {
				t.Errorf("pass %d: got %+v, want %d found", i+1, got, want)
			}
		}
		for _, id := range all {
			if asked, _ := w.count(id); asked != 1 {
				t.Errorf("%s: asked about %d times, want every key before the first again", id, asked)
			}
		}
	})
}

func TestAnEndInTheMiddleGivesTheClaimBack(t *testing.T) {
	for name, c := range map[string]struct {
		finding reconcile.Finding
		heeds   bool // the Verifier heeds its context
		status  store.Status
	}{
		"of a question":                     {reconcile.Unknown, true, store.StatusLapsed},
		"of one answered with happened":     {reconcile.Happened, false, store.StatusConsumed},
		"of one answered with not happened": {reconcile.NotHappened, false, store.StatusLapsed},
		"of one that comes to nothing":      {reconcile.NotHappened, true, store.StatusLapsed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := memory(t), newWorld()
				ctx, cancel := context.WithCancel(t.Context())
				w.verify = func(ctx context.Context, _ store.Key) (reconcile.Finding, error) {
					cancel()
					if c.heeds {
						<-ctx.Done()
						return c.finding, ctx.Err()
					}
					return c.finding, nil
				}
				for _, id := range ids(10) {
					abandon(t, s, id)
				}
				time.Sleep(time.Hour)
				r := reconciler(t, s, w, reconcile.Options{})
				got, err := r.Pass(ctx)
				if !errors.Is(err, context.Canceled) || got.Found != 1 || got.Unknown+got.Failed+got.Retried != 0 ||
					got.Err != nil {
					t.Errorf("got %+v, %v, want the end after one record, and no failure", got, err)
				}
				if len(w.asked) != 1 || len(w.retried) != 0 {
					t.Errorf("asked about %v and retried %v, want one and none", w.asked, w.retried)
				}
				for id := range w.asked {
					if got := record(t, s, id); got.Status != c.status {
						t.Errorf("got %+v, want %v", got, c.status)
					}
				}
			})
		})
	}
}

func TestADeathBetweenReleaseAndRetryIsMadeUpForByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		w.answer("A1", reconcile.NotHappened)
		first := reconciler(t, s, w, reconcile.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		w.retry = func(context.Context, store.Key) error {
			cancel() // and nothing is published
			return context.Canceled
		}
		abandon(t, s, "A1")
		time.Sleep(time.Hour)
		if _, err := first.Pass(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end", err)
		}
		w.retry = nil
		second := reconciler(t, s, w, reconcile.Options{})
		if got := passed(t, second); got.Found != 0 {
			t.Errorf("got %+v at once, want nothing overdue", got)
		}
		time.Sleep(reconcile.DefaultOverdue)
		if got := passed(t, second); got.Retried != 1 {
			t.Errorf("got %+v, want the retry", got)
		}
	})
}

func TestADeathWithAClaimInHandIsMadeUpForByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		w.answer("A1", reconcile.Happened)
		abandon(t, s, "A1")
		time.Sleep(time.Hour)
		abandon(t, s, "A1") // as a reconciler that dies then
		time.Sleep(lease + reconcile.DefaultOverdue)
		if got := passed(t, reconciler(t, s, w, reconcile.Options{})); got.Completed != 1 {
			t.Errorf("got %+v, want the key's end", got)
		}
	})
}
