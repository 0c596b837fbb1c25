package dedup_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// refusing answers every claim with an error.
type refusing struct {
	store.Store
	err error
}

func (r refusing) Claim(context.Context, store.ClaimRequest) (store.Verdict, error) {
	return store.Verdict{}, r.err
}

// told is the seconds and the number of suppressed lines of each line.
func told(log string) (lines []string) {
	for line := range strings.Lines(log) {
		_, suppressed, _ := strings.Cut(strings.TrimSpace(line), "suppressed=")
		at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(strings.Fields(line)[0], "time="))
		if err != nil {
			return []string{err.Error()}
		}
		lines = append(lines, fmt.Sprintf("%d s: %s", at.Second(), suppressed))
	}
	return lines
}

func TestAnOutageIsLoggedNowAndThenAndObservedEveryTime(t *testing.T) {
	for name, c := range map[string]struct {
		outage dedup.Outage
		want   dedup.Outcome
	}{"deferred": {dedup.OutageRetry, dedup.Deferred}, "unprotected": {dedup.OutageRun, dedup.Ran}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				events := 0
				down := refusing{newBench(t, nil).store, &store.Error{Driver: "x", Op: "claim", Class: store.Permanent, Err: errBoom}}
				g, err := dedup.New(down, dedup.Options{
					Logger:   slog.New(slog.NewTextHandler(&out, nil)),
					Observer: dedup.ObserverFunc(func(context.Context, dedup.Event) { events++ }),
				})
				if err != nil {
					t.Fatal(err)
				}
				d := dedup.Delivery{Policy: short()}
				d.Policy.Outage = c.outage
				for i := range 100 { // 4 in a second
					d.Key = key(strconv.Itoa(i))
					if r := g.Deliver(t.Context(), d, succeed); r.Outcome != c.want {
						t.Fatalf("got %v, %v, want %v", r.Outcome, r.Err, c.want)
					}
					time.Sleep(time.Second / 4)
				}
				if got, want := told(out.String()), []string{"0 s: ", "10 s: 39", "20 s: 39"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q from\n%s", got, want, out.String())
				}
				if events != 100 {
					t.Errorf("got %d events, want 100", events)
				}
			})
		})
	}
}

func TestOnlyLinesAboutTheStoreAloneAreSuppressed(t *testing.T) {
	failed := func(class store.Class) error {
		return &store.Error{Driver: "x", Op: "claim", Class: class, Err: errBoom}
	}
	for name, c := range map[string]struct {
		results []dedup.Result
		lines   int
	}{
		"the same class":       {[]dedup.Result{{Err: failed(store.Unknown)}, {Err: failed(store.Unknown)}}, 1},
		"two classes":          {[]dedup.Result{{Err: failed(store.Unknown)}, {Err: failed(store.NotApplied)}}, 2},
		"parked":               {twice(dedup.Result{Err: dedup.ErrParked}), 2},
		"corrupt":              {twice(dedup.Result{Err: dedup.ErrCorrupt}), 2},
		"on its last":          {twice(dedup.Result{Err: fmt.Errorf("%w: %w", dedup.ErrExhausted, failed(store.Unknown))}), 2},
		"the callback's":       {twice(dedup.Result{Outcome: dedup.Failed, Err: failed(store.Unknown)}), 2},
		"unprotected, lost":    {twice(dedup.Result{Outcome: dedup.Ran, Unprotected: true, Cancelled: true}), 2},
		"unrecorded":           {twice(dedup.Result{Outcome: dedup.Ran, Unrecorded: true, Err: failed(store.Unknown)}), 2},
		"unrecorded, deferred": {twice(dedup.Result{Unrecorded: true, Err: failed(store.Unknown)}), 2},
		"unrecorded without a claim": {
			twice(dedup.Result{Outcome: dedup.Ran, Unprotected: true, Unrecorded: true, Err: failed(store.Unknown)}), 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				g := guardWith(t, dedup.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
				for _, r := range c.results {
					if r.Outcome == 0 {
						r.Outcome = dedup.Deferred
					}
					g.Report(t.Context(), dedup.Delivery{Key: key("1")}, r)
				}
				if got := strings.Count(out.String(), "\n"); got != c.lines {
					t.Errorf("got %d lines, want %d:\n%s", got, c.lines, out.String())
				}
			})
		})
	}
}

func TestAStoreThatIsTooLateIsOneOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		slow := &lateReply{Store: newBench(t, nil).store, delay: 900 * time.Millisecond, times: 1000}
		g, err := dedup.New(slow, dedup.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		p := dedup.Policy{Lease: time.Second, MaxConsume: 20 * time.Second, Outage: dedup.OutageRetry}
		for _, id := range []string{"1", "2"} {
			if outcome, _ := g.Do(t.Context(), key(id), p, succeed); outcome != dedup.Deferred {
				t.Fatalf("got %v, want deferred", outcome)
			}
		}
		if got := strings.Count(out.String(), "\n"); got != 1 {
			t.Errorf("got %d lines, want 1:\n%s", got, out.String())
		}
	})
}

func twice(r dedup.Result) []dedup.Result { return []dedup.Result{r, r} }
