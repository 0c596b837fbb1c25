package listenertest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// wrong is a program with a bug, and all the points at which the bug shows.
type wrong struct {
	program func(*world)
	faults  []listenertest.Fault // none: everything
	want    []string
}

var wrongPrograms = map[string]wrong{
	"works without a listener": {
		program: func(w *world) {
			w.start = func(c *listenertest.Consumer, _ store.Store) error {
				return c.Subscribe("orders", consumer.MessageSelector{}, func(ctx context.Context,
					_ ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
					return consumer.ConsumeSuccess, w.charge(ctx)
				})
			}
		},
		faults: []listenertest.Fault{listenertest.CopyAfter},
		want:   []string{"copy after acknowledgement"},
	},
	"charges whenever it is called": {
		program: func(w *world) { w.handle(w.charge) },
		want: []string{
			`crash after "charge"`, `panic after "charge"`, `lost reply of "charge"`,
			`lost lease before "charge"`, `cancellation before "charge"`,
			"crash before complete", "refusal of complete", "lost lease before complete",
		},
	},
	"minds its context and nothing else": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error {
				return w.Effect(ctx, "charge", func() error {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					w.charges++
					return nil
				})
			})
		},
		faults: []listenertest.Fault{listenertest.LeaseLost, listenertest.Cancelled},
		want:   []string{`lost lease before "charge"`, "lost lease before complete"},
	},
	"looks before it charges": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error {
				if w.charges > 0 {
					return nil
				}
				return w.charge(ctx)
			})
		},
		want: []string{`lost lease before "charge"`, `cancellation before "charge"`},
	},
	"marks before it charges": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error {
				if w.marked {
					return nil
				}
				if err := w.Effect(ctx, "mark", func() error { w.marked = true; return nil }); err != nil {
					return err
				}
				return w.chargeOnce(ctx)
			})
		},
		want: []string{
			`crash after "mark"`, `panic after "mark"`, `lost reply of "mark"`,
			`crash before "charge"`, `panic before "charge"`, `refusal of "charge"`,
		},
	},
	"takes an error for a success": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error { _ = w.chargeOnce(ctx); return nil })
		},
		want: []string{`refusal of "charge"`},
	},
	"takes a panic for a success": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error {
				defer func() { _ = recover() }()
				return w.chargeOnce(ctx)
			})
		},
		want: []string{`panic before "charge"`},
	},
	"gives up after one attempt": {
		program: func(w *world) { w.handle(w.chargeOnce); w.options.Policy = dedup.Policy{MaxAttempts: 1} },
		want: []string{
			"crash after claim", `crash before "charge"`, `panic before "charge"`, `refusal of "charge"`,
		},
	},
	"charges after it has returned": {
		program: func(w *world) {
			w.handle(func(ctx context.Context) error {
				go func() {
					time.Sleep(time.Second)
					_ = w.chargeOnce(ctx)
				}()
				return nil
			})
		},
		faults: []listenertest.Fault{listenertest.CrashAfter},
		want:   []string{"crash after complete"},
	},
	"acknowledges what it cannot claim": {
		program: func(w *world) { w.start = w.byHand(true, w.chargeOnce) },
		want:    []string{"lost reply of claim"},
	},
	"charges again for the record": {
		program: func(w *world) { w.start = w.byHand(false, w.charge) },
		faults:  []listenertest.Fault{listenertest.ReplyLost},
		want:    []string{`lost reply of "charge"`, "lost reply of complete"},
	},
}

func TestWrongProgramsAreCaughtWhereTheyAreWrong(t *testing.T) {
	for name, c := range wrongPrograms {
		t.Run(name, func(t *testing.T) {
			if c.faults == nil {
				c.faults = everything()
			}
			synctest.Test(t, func(t *testing.T) {
				err := listenertest.TestCrashes(inWorld(c.program), c.faults...)
				if got := points(err); !slices.Equal(got, c.want) {
					t.Errorf("caught at\n%q, want\n%q\n%v", got, c.want, err)
				}
			})
		})
	}
}

func TestEveryKindOfPointCatchesAWrongProgram(t *testing.T) {
	var caught []string
	for _, c := range wrongPrograms {
		caught = append(caught, c.want...)
	}
	for _, point := range []string{
		`crash before "charge"`, `crash after "charge"`, `panic before "charge"`, `panic after "charge"`,
		`refusal of "charge"`, `lost reply of "charge"`, `lost lease before "charge"`, `cancellation before "charge"`,
		"crash after claim", "lost reply of claim", "crash before complete", "crash after complete",
		"refusal of complete", "lost reply of complete", "lost lease before complete", "copy after acknowledgement",
	} {
		if !slices.Contains(caught, point) {
			t.Errorf("nothing is caught by %s", point)
		}
	}
}

func TestATestWithoutPlacesFails(t *testing.T) {
	err := listenertest.TestCrashes(func(*listenertest.Run) error { return nil })
	if err == nil {
		t.Error("a test that tests nothing has passed")
	}
	var f *listenertest.Failure
	err = listenertest.TestCrashes(func(r *listenertest.Run) error { r.Deliver(); return nil })
	if !errors.As(err, &f) || f.Point != "no fault" {
		t.Errorf("Deliver before Start: got %v", err)
	}
}
