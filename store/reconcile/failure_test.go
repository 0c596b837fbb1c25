package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// faulty is a store whose calls of one kind fail while err is set, before they
// are applied or after.
type faulty struct {
	*memstore.Store
	op      string
	only    string // IDs, "" for any
	applied bool
	err     error
	calls   int    // that failed
	failed  func() // called then, if not nil
}

func (f *faulty) fails(op, id string) bool {
	if f.err == nil || f.op != op || f.only != "" && !strings.Contains(f.only, id) {
		return false
	}
	f.calls++
	if f.failed != nil {
		f.failed()
	}
	return true
}

func (f *faulty) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	if f.fails("scan", "") {
		return store.Page{}, f.err
	}
	return f.Store.Scan(ctx, q)
}

func (f *faulty) Get(ctx context.Context, k store.Key) (store.Record, error) {
	if f.fails("get", k.ID) {
		return store.Record{}, f.err
	}
	return f.Store.Get(ctx, k)
}

func (f *faulty) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if !f.fails("claim", r.Key.ID) {
		return f.Store.Claim(ctx, r)
	}
	if f.applied {
		_, _ = f.Store.Claim(ctx, r) // its answer is lost
	}
	return store.Verdict{}, f.err
}

func (f *faulty) Fence(ctx context.Context, k store.Key, t store.Token) (int64, error) {
	if f.fails("fence", k.ID) {
		return 0, f.err
	}
	return f.Store.Fence(ctx, k, t)
}

func (f *faulty) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	if !f.fails("release", k.ID) {
		return f.Store.Release(ctx, k, t, ran)
	}
	if f.applied {
		_ = f.Store.Release(ctx, k, t, ran) // its answer is lost
	}
	return f.err
}

func (f *faulty) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	if f.fails("complete", k.ID) {
		return 0, f.err
	}
	return f.Store.Complete(ctx, k, t, keep)
}

func TestWhatFailsOnceIsBroughtToItsEndLater(t *testing.T) {
	lost := &store.Error{Driver: "faulty", Op: "call", Class: store.Unknown, Err: errors.New("reply lost")}
	down := &store.Error{Driver: "faulty", Op: "call", Class: store.NotApplied, Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		faulty  faulty
		finding reconcile.Finding
		attempt int // that the record has then
	}{
		"a claim":                       {faulty{op: "claim", err: down}, reconcile.NotHappened, 1},
		"the answer to a claim":         {faulty{op: "claim", err: lost, applied: true}, reconcile.NotHappened, 1},
		"a claim that may have arrived": {faulty{op: "claim", err: lost}, reconcile.NotHappened, 1},
		"a look at the record":          {faulty{op: "get", err: down}, reconcile.NotHappened, 1},
		"a fence":                       {faulty{op: "fence", err: down}, reconcile.NotHappened, 1},
		"a release":                     {faulty{op: "release", err: down}, reconcile.NotHappened, 2},
		"the answer to a release":       {faulty{op: "release", err: lost, applied: true}, reconcile.NotHappened, 1},
		"a release after an unknown":    {faulty{op: "release", err: down}, reconcile.Unknown, 2},
		"a complete":                    {faulty{op: "complete", err: down}, reconcile.Happened, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, w := c.faulty, newWorld()
				f.Store = memory(t)
				w.answer("A1", c.finding)
				r := reconciler(t, &f, w, reconcile.Options{})
				abandon(t, f.Store, "A1")
				time.Sleep(time.Hour)
				got, err := r.Pass(t.Context())
				prefix := "reconcile: billing:orders::A1: " + c.faulty.op + ":"
				if !errors.Is(err, c.faulty.err) || !strings.HasPrefix(err.Error(), prefix) ||
					got.Failed != 1 || got.Found != 1 || got.Retried+got.Completed+got.Unknown != 0 {
					t.Errorf("got %+v, %v, want one failure that names the key and the call", got, err)
				}
				if got := record(t, f.Store, "A1"); got.Attempt != c.attempt {
					t.Errorf("got %+v, want %d attempts", got, c.attempt)
				}
				if _, retried := w.count("A1"); retried != 0 {
					t.Errorf("got a retry of a key that may not be free")
				}
				f.err = nil
				time.Sleep(reconcile.DefaultLease + reconcile.DefaultOverdue)
				if got := passed(t, r); got.Found != 1 || got.Retried+got.Completed+got.Unknown != 1 {
					t.Errorf("got %+v after the failure, want the key's end", got)
				}
			})
		})
	}
}

func TestOneKeyThatFailsDoesNotKeepTheOthersFromTheirEnd(t *testing.T) {
	for name, class := range map[string]store.Class{"for now": store.NotApplied, "for ever": store.Permanent} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := &store.Error{Driver: "faulty", Op: "claim", Class: class, Err: errors.New("broken")}
				f, w := &faulty{Store: memory(t), op: "claim", only: "A007", err: broken}, newWorld()
				for _, id := range ids(20) {
					abandon(t, f.Store, id)
					w.answer(id, reconcile.Happened)
				}
				time.Sleep(time.Hour)
				got, err := reconciler(t, f, w, reconcile.Options{Batch: 3}).Pass(t.Context())
				if !errors.Is(err, broken) || got.Completed != 19 || got.Failed != 1 {
					t.Errorf("got %+v, %v, want one failure and 19 ends", got, err)
				}
			})
		})
	}
}

func TestFailuresInARowEndThePass(t *testing.T) {
	for name, c := range map[string]struct {
		op    string
		class store.Class
		want  int
	}{
		"claims of a store that is down":    {"claim", store.NotApplied, 3},
		"claims without an answer":          {"claim", store.Unknown, 3},
		"claims that fail quickly for ever": {"claim", store.Permanent, 20},
		"a scan":                            {"scan", store.NotApplied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := &store.Error{Driver: "faulty", Op: c.op, Class: c.class, Err: errors.New("down")}
				f, w := &faulty{Store: memory(t), op: c.op, err: down}, newWorld()
				for _, id := range ids(20) {
					abandon(t, f.Store, id)
				}
				time.Sleep(time.Hour)
				got, err := reconciler(t, f, w, reconcile.Options{}).Pass(t.Context())
				if !errors.Is(err, down) || f.calls != c.want || got.Failed != int64(c.want) {
					t.Errorf("got %+v, %v after %d calls, want an end after %d", got, err, f.calls, c.want)
				}
			})
		})
	}
}

func TestFailuresThatAreNotInARowDoNotEndThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &store.Error{Driver: "faulty", Op: "claim", Class: store.NotApplied, Err: errors.New("broken")}
		f, w := &faulty{Store: memory(t), op: "claim", only: "A000 A001 A003 A004 A006", err: broken}, newWorld()
		for _, id := range ids(10) {
			abandon(t, f.Store, id)
			w.answer(id, reconcile.Happened)
		}
		time.Sleep(time.Hour)
		got, err := reconciler(t, f, w, reconcile.Options{Batch: 1}).Pass(t.Context()) // in the order of their claims
		if !errors.Is(err, broken) || got.Failed != 5 || got.Completed != 5 {
			t.Errorf("got %+v, %v, want 5 failures and 5 ends", got, err)
		}
	})
}

func TestACallThatIsCutShortByTheEndIsNoFailure(t *testing.T) {
	for _, op := range []string{"scan", "claim", "get", "fence"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				f, w := &faulty{Store: memory(t), op: op, err: context.Canceled, failed: cancel}, newWorld()
				abandon(t, f.Store, "A1")
				time.Sleep(time.Hour)
				got, err := reconciler(t, f, w, reconcile.Options{}).Pass(ctx)
				if !errors.Is(err, context.Canceled) || got.Failed != 0 || got.Err != nil || f.calls != 1 {
					t.Errorf("got %+v, %v, want nothing but the end", got, err)
				}
				if got := record(t, f.Store, "A1"); got.Status != store.StatusLapsed || got.Attempt != 1 {
					t.Errorf("got %+v, want it free, with one attempt", got)
				}
			})
		})
	}
}

func TestAPlaceThatTheStoreDoesNotKnowIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := &faulty{Store: memory(t), op: "scan"}, newWorld()
		r := reconciler(t, f, w, reconcile.Options{Batch: 2, PerPass: 2})
		for _, id := range ids(4) {
			abandon(t, f.Store, id)
		}
		time.Sleep(time.Hour)
		passed(t, r)
		f.err = store.ErrInvalid
		if _, err := r.Pass(t.Context()); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got %v, want it reported", err)
		}
		f.err = nil
		time.Sleep(time.Hour)
		passed(t, r)
		for _, id := range ids(2) {
			if asked, _ := w.count(id); asked != 2 {
				t.Errorf("%s: asked about %d times, want the pass to begin anew", id, asked)
			}
		}
	})
}

func TestAFailureIsLoggedUntilItChangesAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &store.Error{Driver: "faulty", Op: "scan", Class: store.NotApplied, Err: errors.New("down")}
		f, w := &faulty{Store: memory(t), op: "scan", err: down}, newWorld()
		var log bytes.Buffer
		r := reconciler(t, f, w, reconcile.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		denied := &store.Error{Driver: "faulty", Op: "scan", Class: store.Permanent, Err: errors.New("denied")}
		for _, err := range []error{down, down, denied, nil, nil} {
			f.err = err
			_, _ = r.Pass(t.Context()) // the log is what counts
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{"level=WARN", "level=ERROR", "level=INFO msg=\"reconcile: nothing fails any more\""} {
			if len(lines) != 3 || !strings.Contains(lines[i], want) {
				t.Fatalf("got the log\n%swant 3 lines, with %q", log.String(), want)
			}
		}
		if got := r.Stats(); got.Passes != 5 || got.Failed != 3 || got.Err != nil {
			t.Errorf("got %+v, want 3 failures of 5 passes and none by now", got)
		}
	})
}
