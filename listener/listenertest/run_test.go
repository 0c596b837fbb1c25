package listenertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/listenertest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

var (
	_ listenertest.Records = (*memstore.Store)(nil)
	_ listenertest.Records = (*redisstore.Store)(nil)
)

// plain starts a consumer without a listener, which calls handle for each message.
func plain(r *listenertest.Run, handle func(context.Context) error) {
	r.Start(func(c *listenertest.Consumer, _ store.Store) error {
		return c.Subscribe("orders", consumer.MessageSelector{}, func(ctx context.Context,
			_ ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			if err := handle(ctx); err != nil {
				return consumer.ConsumeRetryLater, nil
			}
			return consumer.ConsumeSuccess, nil
		})
	})
}

func nothing() error { return nil }

const hour = time.Hour

func TestPlacesAreNumbered(t *testing.T) {
	var runs []string
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		runs = append(runs, r.String())
		plain(r, func(ctx context.Context) error {
			return errors.Join(r.Effect(ctx, "mail", nothing), r.Effect(ctx, "mail", nothing))
		})
		r.Deliver(order("7"))
		return nil
	}, listenertest.CrashBefore, listenertest.CrashAfter)
	want := []string{
		"no fault", `crash before "mail"`, `crash after "mail"`, `crash before "mail" #2`, `crash after "mail" #2`,
	}
	if err != nil || !slices.Equal(runs, want) {
		t.Errorf("got %q, %v, want %q", runs, err, want)
	}
}

func TestADeadProcessHasNoEffects(t *testing.T) {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		var effects []string
		mark := func(ctx context.Context, name string) {
			_ = r.Effect(ctx, name, func() error { effects = append(effects, name); return nil })
		}
		plain(r, func(ctx context.Context) error {
			defer mark(ctx, "deferred")
			mark(ctx, "charge")
			return nil
		})
		r.Deliver(order("7"))
		want := []string{"charge", "charge", "deferred"}
		if r.String() == `crash after "charge"` && !slices.Equal(effects, want) {
			return fmt.Errorf("got %q, want %q", effects, want)
		}
		return nil
	}, listenertest.CrashAfter)
	if err != nil {
		t.Error(err)
	}
}

func TestADeadProcessDoesNotReachItsStore(t *testing.T) {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		charges := 0
		r.Start(func(c *listenertest.Consumer, records store.Store) error {
			return c.Subscribe("orders", consumer.MessageSelector{}, func(ctx context.Context,
				_ ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				k, token := store.Key{Application: "billing", Topic: "orders", ID: "7"}, store.NewToken()
				v, err := records.Claim(ctx, store.ClaimRequest{Key: k, Token: token, Lease: hour, Horizon: hour})
				if err != nil || v.State != store.Claimed {
					return consumer.ConsumeSuccess, err
				}
				defer func() { _, _ = records.Complete(ctx, k, token, hour) }() // nobody is left to care
				err = r.Effect(ctx, "charge", func() error { charges = 1; return nil })
				return consumer.ConsumeSuccess, err
			})
		})
		r.Deliver(order("7"))
		if charges != 1 {
			return fmt.Errorf("%d charges", charges)
		}
		return nil
	}, listenertest.CrashBefore)
	if err != nil {
		t.Error(err)
	}
}

func TestARunThatIsNotRepeatableFails(t *testing.T) {
	calls := 0
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		calls++
		plain(r, func(ctx context.Context) error { return r.Effect(ctx, fmt.Sprint("charge", calls), nothing) })
		r.Deliver(order("7"))
		return nil
	}, listenertest.CrashAfter)
	if got := points(err); !slices.Equal(got, []string{`crash after "charge1"`}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAMessageThatNeverEndsFails(t *testing.T) {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		plain(r, func(context.Context) error { panic("always") })
		r.Deliver(order("7"))
		return nil
	})
	if got := points(err); !slices.Equal(got, []string{"no fault"}) || !strings.Contains(err.Error(), "not finished") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatDoesNotStartFails(t *testing.T) {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		r.Start(func(*listenertest.Consumer, store.Store) error { return errBoom })
		if a := r.Deliver(order("7")); a.Fate != listenertest.Unanswered {
			return fmt.Errorf("got %v", a)
		}
		return nil
	})
	if got := points(err); !slices.Equal(got, []string{"no fault"}) || !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
}

func TestADeadMessageEndsItsDelivery(t *testing.T) {
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		plain(r, func(ctx context.Context) error { _ = r.Effect(ctx, "charge", nothing); return errBoom })
		if a := r.Deliver(order("7")); a.Fate != listenertest.Dead {
			return fmt.Errorf("got %v", a)
		}
		return nil
	}, listenertest.CrashBefore)
	if err != nil {
		t.Error(err)
	}
}

func TestAPermanentErrorIsDead(t *testing.T) {
	w := &world{}
	w.handle(func(ctx context.Context) error {
		_ = w.Effect(ctx, "look", nothing)
		return dedup.Permanent(errBoom)
	})
	err := listenertest.TestCrashes(func(r *listenertest.Run) error {
		w.Run = r
		r.Start(w.listen)
		if a := r.Deliver(order("7")); a.Fate != listenertest.Dead {
			return fmt.Errorf("got %v", a)
		}
		return nil
	}, listenertest.CrashBefore)
	if err != nil {
		t.Error(err)
	}
}

// An account that takes the latest write as it comes is spoilt by an owner that
// has lost its lease, unless it compares fences.
func TestAFenceKeepsALateOwnerOut(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		err := listenertest.TestCrashes(func(r *listenertest.Run) error {
			w, owners, owner, highest := &world{Run: r}, 0, 0, int64(0)
			w.handle(func(ctx context.Context) error {
				owners++
				me := owners
				fence, err := dedup.Fence(ctx)
				if err != nil {
					return err
				}
				return r.Effect(ctx, "write", func() error {
					if fenced && fence < highest {
						return errBoom
					}
					owner, highest = me, fence
					return nil
				})
			})
			r.Start(w.listen)
			r.Deliver(order("7"))
			if owner != owners {
				return fmt.Errorf("owner %d of %d wrote last", owner, owners)
			}
			return nil
		})
		if caught := slices.Contains(points(err), `lost lease before "write"`); caught == fenced {
			t.Errorf("with a fence %t: got %v", fenced, err)
		}
	}
}

func TestARunTakesAnotherStore(t *testing.T) {
	own, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	w.handle(func(context.Context) error { return nil })
	err = listenertest.TestCrashes(func(r *listenertest.Run) error {
		r.Records = own
		r.Start(w.listen)
		r.Deliver(order("7"))
		return nil
	}, listenertest.CrashAfter)
	if err != nil || own.Len() == 0 {
		t.Errorf("got %v and %d records", err, own.Len())
	}
}

func TestAnEffectOutsideOfATestHasNoFault(t *testing.T) {
	var r listenertest.Run
	if err := r.Effect(t.Context(), "charge", func() error { return errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("got %v, want the effect's own error", err)
	}
}
