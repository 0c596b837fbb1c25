package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

func TestNewNamesEveryOptionThatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	bad := reconcile.Options{
		Overdue: -1, Every: -1, Batch: -1, PerPass: -1, Lease: -1, Timeout: -1, Keep: -1, RetryAgain: -1,
	}
	r, err := reconcile.New(nil, bad)
	if err == nil || r != nil {
		t.Fatalf("got %v, %v, want it refused", r, err)
	}
	for _, want := range []string{
		"the store is nil, want", "Options.Verifier is nil, want", "Options.Retry is nil, want",
		"Options.Overdue is -1ns, want 1ms to", "Options.Every is -1ns, want 1ms to 24h0m0s",
		"Options.Batch is -1, want 1 to 10000", "Options.PerPass is -1, want 1 to 1000000",
		"Options.Lease is -1ns, want 10ms to 1h0m0s", "Options.Timeout is -1ns, want 1ms to 3.333333ms",
		"Options.Keep is -1ns, want 1ms to", "Options.RetryAgain is -1, want 1 to 1000000",
	} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestNewRefusesWhatIsJustOutOfBounds(t *testing.T) {
	t.Parallel()
	w := newWorld()
	complete := func(o reconcile.Options) reconcile.Options {
		o.Verifier, o.Retry = w.Verify, w.Retry
		return o
	}
	for _, o := range []reconcile.Options{
		{Retry: w.Retry}, {Verifier: w.Verify},
		complete(reconcile.Options{Overdue: time.Millisecond - 1}),
		complete(reconcile.Options{Overdue: store.MaxDuration + 1}),
		complete(reconcile.Options{Every: time.Millisecond - 1}), complete(reconcile.Options{Every: reconcile.MaxEvery + 1}),
		complete(reconcile.Options{Batch: store.MaxScan + 1, PerPass: reconcile.MaxPerPass}),
		complete(reconcile.Options{Batch: 11, PerPass: 10}), complete(reconcile.Options{PerPass: reconcile.MaxPerPass + 1}),
		complete(reconcile.Options{Lease: reconcile.MinLease - 1}),
		complete(reconcile.Options{Lease: reconcile.MaxLease + 1}),
		complete(reconcile.Options{Timeout: time.Millisecond - 1}),
		complete(reconcile.Options{Lease: 3 * time.Second, Timeout: time.Second + 1}),
		complete(reconcile.Options{Keep: time.Millisecond - 1}), complete(reconcile.Options{Keep: store.MaxDuration + 1}),
		complete(reconcile.Options{RetryAgain: reconcile.MaxRetryAgain + 1}),
	} {
		if r, err := reconcile.New(memory(t), o); err == nil || r != nil || strings.Count(err.Error(), "Options.") != 1 {
			t.Errorf("%+v: got %v, want one complaint", o, err)
		}
	}
	for _, o := range []reconcile.Options{
		{},
		{PerPass: 1},                // with a smaller batch
		{Lease: reconcile.MinLease}, // with a shorter timeout
		{Overdue: time.Millisecond, Every: time.Millisecond, Batch: 1, PerPass: 1, Lease: 10 * time.Millisecond,
			Timeout: time.Millisecond, Keep: time.Millisecond, RetryAgain: 1},
		{Overdue: store.MaxDuration, Every: reconcile.MaxEvery, Batch: store.MaxScan, PerPass: reconcile.MaxPerPass,
			Lease: reconcile.MaxLease, Timeout: reconcile.MaxLease / 3, Keep: store.MaxDuration,
			RetryAgain: reconcile.MaxRetryAgain},
	} {
		if _, err := reconcile.New(memory(t), complete(o)); err != nil {
			t.Errorf("%+v: got %v, want it accepted", o, err)
		}
	}
}
