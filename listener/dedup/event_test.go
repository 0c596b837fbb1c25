package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestAnEventTellsHowLongEachStepTook(t *testing.T) {
	runFor := func(ctx context.Context) error { return holdFor(time.Second)(ctx) }
	for name, deliver := range map[string]func(context.Context, *bench, []dedup.Delivery){
		"alone": func(ctx context.Context, b *bench, ds []dedup.Delivery) { b.Deliver(ctx, ds[0], runFor) },
		"each": func(ctx context.Context, b *bench, ds []dedup.Delivery) {
			b.DeliverEach(ctx, ds, 8, func(ctx context.Context, _ int) error { return runFor(ctx) })
		},
		"together": func(ctx context.Context, b *bench, ds []dedup.Delivery) {
			b.DeliverTogether(ctx, ds, func(ctx context.Context, _ []int) error { return runFor(ctx) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s store.Store) store.Store { return unhurried{s.(*memstore.Store)} })
				time.Sleep(time.Hour) // a clock that began long ago
				deliver(t.Context(), b, ofKeys("1", "2"))
				e := <-b.events
				if e.ClaimTime != 100*time.Millisecond || e.RunTime != time.Second || e.SettleTime != 200*time.Millisecond {
					t.Errorf("got %v, %v, %v; want 100ms, 1s, 200ms", e.ClaimTime, e.RunTime, e.SettleTime)
				}
			})
		})
	}
}

func TestAnEventWithoutAClaimTookNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		time.Sleep(time.Hour)
		d := dedup.Delivery{Policy: short(), Redelivered: true, Fallback: true}
		b.Deliver(t.Context(), d, mustNotRun(t))
		b.DeliverEach(t.Context(), []dedup.Delivery{d, d}, 1, nil)
		for range 3 {
			e := <-b.events
			if e.ClaimTime != 0 || e.RunTime != 0 || e.SettleTime != 0 || !e.Redelivered || !e.Fallback {
				t.Errorf("got %+v", e)
			}
		}
	})
}

func TestTheLogIsAsLoudAsTheEvent(t *testing.T) {
	for name, c := range map[string]struct {
		result dedup.Result
		line   string
	}{
		"ran":     {dedup.Result{Outcome: dedup.Ran, Attempt: 1, Completion: store.Late}, "DEBUG ran attempt=1 completion=late"},
		"skipped": {dedup.Result{Outcome: dedup.Skipped}, "DEBUG skipped"},
		"busy": {
			dedup.Result{Outcome: dedup.Deferred, Err: fmt.Errorf("x: %w", dedup.ErrBusy), Left: time.Second},
			"DEBUG deferred left=1s error=…",
		},
		"parked":      {dedup.Result{Outcome: dedup.Deferred, Err: dedup.ErrParked}, "WARN deferred error=…"},
		"corrupt":     {dedup.Result{Outcome: dedup.Deferred, Err: dedup.ErrCorrupt}, "ERROR deferred error=…"},
		"exhausted":   {dedup.Result{Outcome: dedup.Deferred, Err: dedup.ErrExhausted}, "ERROR deferred error=…"},
		"failed":      {dedup.Result{Outcome: dedup.Failed, Err: errBoom}, "WARN failed error=…"},
		"panicked":    {dedup.Result{Outcome: dedup.Failed, Err: &dedup.PanicError{}}, "WARN failed error=… stack=…"},
		"unprotected": {dedup.Result{Outcome: dedup.Ran, Unprotected: true}, "WARN ran unprotected=true"},
		"cancelled":   {dedup.Result{Outcome: dedup.Ran, Cancelled: true}, "WARN ran cancelled=true"},
		"unrecorded": {
			dedup.Result{Outcome: dedup.Ran, Unrecorded: true, Err: errBoom}, "ERROR ran unrecorded=true error=…",
		},
		"rearmed": {dedup.Result{Outcome: dedup.Skipped, Rearmed: true}, "ERROR skipped rearmed=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			g := guardWith(t, dedup.Options{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
				Level: slog.LevelDebug,
			}))})
			g.Report(t.Context(), dedup.Delivery{Key: key("1")}, c.result)
			if got := plain(out.String()); got != c.line {
				t.Errorf("got %q, want %q from\n%s", got, c.line, out.String())
			}
		})
	}
}

func TestTheLogTellsWhereAMessageCameFrom(t *testing.T) {
	var out bytes.Buffer
	g := guardWith(t, dedup.Options{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	d := dedup.Delivery{Key: key("1"), Redelivered: true, Fallback: true, Policy: short()}
	want(t, g.Deliver(t.Context(), d, fail), dedup.Failed, errBoom)
	for _, part := range []string{
		"key=orders:created:eu:1", "redelivered=true", "fallback_key=true", "claim_time=", "run_time=", "settle_time=",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the log does not say %s: %s", part, out.String())
		}
	}
}

func TestWithoutALoggerTheDefaultOneIsUsed(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	guardWith(t, dedup.Options{}).Report(t.Context(), dedup.Delivery{Key: key("1")},
		dedup.Result{Outcome: dedup.Failed, Err: errBoom})
	if !strings.Contains(out.String(), "delivery failed") {
		t.Errorf("got %q", out.String())
	}
}

var dropped = regexp.MustCompile(`time=\S+ level=|msg="dedup: delivery |" key=\S+ outcome=\w+ claim_time=0s|\n`)

// plain is a log line without what is the same in all of them.
func plain(line string) string {
	line = dropped.ReplaceAllString(line, "")
	line = regexp.MustCompile(`(error|stack)=("[^"]*"|\S*)`).ReplaceAllString(line, "$1=…")
	return strings.TrimSpace(line)
}

func TestAPanicErrorIsShortAndLeadsToItsCause(t *testing.T) {
	long := &dedup.PanicError{Value: strings.Repeat("x", 1000)}
	if got := len(long.Error()); got > 240 {
		t.Errorf("got %d bytes, want 200 of the value", got)
	}
	if whole := (&dedup.PanicError{Value: strings.Repeat("x", 200)}).Error(); strings.Contains(whole, "…") {
		t.Errorf("got %q, want 200 bytes uncut", whole)
	}
	if !errors.Is(&dedup.PanicError{Value: errBoom}, errBoom) || errors.Unwrap(long) != nil {
		t.Error("an error that was panicked with is lost")
	}
}

// unhurried takes its time to claim and to settle.
type unhurried struct{ *memstore.Store }

func (u unhurried) ClaimBatch(ctx context.Context, rs []store.ClaimRequest) []store.ClaimAnswer {
	time.Sleep(100 * time.Millisecond)
	return u.Store.ClaimBatch(ctx, rs)
}

func (u unhurried) SettleBatch(ctx context.Context, ss []store.Settlement) []store.SettleAnswer {
	time.Sleep(200 * time.Millisecond)
	return u.Store.SettleBatch(ctx, ss)
}

func (u unhurried) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	time.Sleep(100 * time.Millisecond)
	return u.Store.Claim(ctx, r)
}

func (u unhurried) Complete(
	ctx context.Context, k store.Key, t store.Token, keep time.Duration,
) (store.Completion, error) {
	time.Sleep(200 * time.Millisecond)
	return u.Store.Complete(ctx, k, t, keep)
}
