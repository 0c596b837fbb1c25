package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// deaf is a producer whose broker never answers.
type deaf struct{}

func (deaf) Start() error { return nil }

func (deaf) SendMessageInTransaction(
	ctx context.Context, _ *primitive.Message,
) (*primitive.TransactionSendResult, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A bubble wants every goroutine to have ended.
func TestStepsThatFailLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	next := func(n int) []*primitive.Message {
		all := make([]*primitive.Message, n)
		for i := range all {
			all[i] = primitive.NewMessage("next", []byte("body"))
		}
		return all
	}
	for name, c := range map[string]struct {
		send   sender
		next   []*primitive.Message
		result error
	}{
		"the broker refuses": {func(*primitive.Message) (*primitive.TransactionSendResult, error) { return nil, errBoom }, next(3), nil},
		"the client panics":  {func(*primitive.Message) (*primitive.TransactionSendResult, error) { panic(errBoom) }, next(3), nil},
		"a message is nil":   {nil, []*primitive.Message{next(1)[0], nil}, nil},
		"the step fails":     {nil, next(3), errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newOutgoingBench(t)
				cb := b.l.Tx(b.Step(c.send, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
					return c.next, c.result
				}))
				for range 200 {
					if result, _ := consume(t, cb, orderMessage("a")); result != retry {
						t.Fatalf("got %v, want the message back", result)
					}
				}
			})
		})
	}
}

// What a handler returns beside an error is not sent, whatever the error means.
func TestMessagesBesideAnErrorAreNotSent(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{errBoom, dedup.AlreadyDone(errBoom), dedup.Permanent(errBoom)} {
		b := newOutgoingBench(t)
		p := &local{listener: b}
		cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
			return []*primitive.Message{primitive.NewMessage("next", nil)}, failure
		}))
		if consume(t, cb, orderMessage("a")); len(p.halves) > 0 {
			t.Errorf("%v: got %d halves, want none", failure, len(p.halves))
		}
	}
}

// A step around steps may do better or worse than they.
func TestAHandlerMayTakeSeveralStepsAndFailAfterThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure error
		want    state
	}{
		"success":         {nil, primitive.CommitMessageState},
		"a failure":       {errBoom, primitive.RollbackMessageState},
		"nothing to do":   {dedup.AlreadyDone(errBoom), primitive.RollbackMessageState},
		"nothing to save": {dedup.Permanent(errBoom), primitive.RollbackMessageState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOutgoingBench(t)
			p := &local{listener: b}
			step := b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
				return []*primitive.Message{primitive.NewMessage("next", nil)}, nil
			})
			consume(t, b.l.Tx(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
				return errors.Join(step(ctx, tx, m), step(ctx, tx, m), c.failure)
			}), orderMessage("a"))
			if len(p.ends) != 2 || p.ends[0] != c.want || p.ends[1] != c.want {
				t.Errorf("got %v, want %v twice", p.ends, c.want)
			}
			for _, half := range p.halves {
				m := &primitive.MessageExt{}
				m.WithProperties(half.GetProperties())
				b.records.get = b.records.Store.Get
				if got := b.CheckLocalTransaction(m); got != c.want && got != primitive.UnkonwnState {
					t.Errorf("got %v when asked, want %v or unknown", got, c.want)
				}
			}
		})
	}
}

func TestAStepThatWaitsForTheBrokerEndsWithItsDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutgoingBench(t)
		cb := b.l.Tx(b.Step(deaf{}, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
			return []*primitive.Message{primitive.NewMessage("next", nil)}, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if result, err := cb(ctx, orderMessage("a")); result != retry || err != nil {
			t.Errorf("got %v, %v, want the message back", result, err)
		}
		if b.records.token.IsZero() || ctx.Err() == nil {
			t.Error("it ended before its delivery did")
		}
	})
}
