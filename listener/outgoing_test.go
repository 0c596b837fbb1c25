package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestAStepHandsOverExactlyWhatItHasBooked(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		c := newChain(t, on)
		c.ships()
		var runs atomic.Int32
		c.books(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
			next, err := c.book(ctx, tx, m)
			switch runs.Add(1) {
			case 2:
				err = errors.Join(err, errBoom)
			case 4:
				panic(errBoom)
			}
			return next, err
		}, false)
		var all []string
		for i := range 20 {
			all = append(all, fmt.Sprintf("A-%02d", i))
		}
		c.send(all...)
		c.send(all...)
		c.shipped(all...)
		eventually(t, "all copies are skipped", func() bool { return c.count(finished) == 2*len(all) })
		if got := c.stored(); got != len(all) {
			t.Errorf("got %d halves, want %d: neither copies nor failures send any", got, len(all))
		}
	})
}

func TestAStepMayHandOverSeveralMessagesOrNone(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		c := newChain(t, on)
		c.ships()
		c.books(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
			_, err := c.book(ctx, tx, m)
			if m.GetKeys() == "none" {
				return nil, err
			}
			same := order(c.next, "1")
			return []*primitive.Message{same, order(c.next, "2"), same}, err
		}, false)
		c.send("none", "several")
		eventually(t, "both are booked and shipped", func() bool {
			return c.rows("book none") == 1 && c.rows("book several") == 1 &&
				c.rows("ship 1") == 1 && c.rows("ship 2") == 1 && len(c.transactions("1")) == 2
		})
		if got := c.stored(); got != 3 {
			t.Errorf("got %d halves, want 3", got)
		}
	})
}

// The answer to the broker may be lost, and then it asks.
func TestAStepWhoseAnswerIsLostIsAskedFor(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		c := newChain(t, on)
		c.ships()
		c.books(c.book, true)
		c.send("A-1", "A-1", "A-2")
		c.shipped("A-1", "A-2")
		for _, id := range []string{"A-1", "A-2"} {
			if by := c.transactions(id); len(by) == 1 && !c.answered(by[0], primitive.CommitMessageState) {
				t.Errorf("%s was published before the broker asked", id)
			}
		}
	})
}

func TestACommitThatFailsOrWhoseAnswerIsLostHandsOverOnce(t *testing.T) {
	for name, c := range map[string]struct {
		class  store.Class
		after  bool // the commit has happened
		halves int
	}{
		"not committed":                {store.NotApplied, false, 2},
		"not committed, nobody knows":  {store.Unknown, false, 2},
		"committed, but nobody knows":  {store.Unknown, true, 1},
		"committed, but it was silent": {0, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onBrokers(t, func(t *testing.T, on stage) {
				chain := newChain(t, on)
				var failed atomic.Bool
				fail := func() error {
					if failed.Swap(true) {
						return nil
					}
					return &store.Error{Driver: "test", Op: "transact", Class: c.class, Err: errBoom}
				}
				none := func() error { return nil }
				b := brittle{chain.records, fail, none}
				if c.after {
					b = brittle{chain.records, none, fail}
				}
				chain.records = b
				chain.books(chain.book, false)
				chain.send("A-1")
				chain.records = b.txStore
				chain.ships()
				chain.shipped("A-1")
				if got := chain.stored(); got != c.halves {
					t.Errorf("got %d halves, want %d", got, c.halves)
				}
			})
		})
	}
}

func TestAStepIsNotCommittedBeforeTheBrokerHasItsMessage(t *testing.T) {
	t.Parallel()
	c := newChain(t, inProcess)
	c.ships()
	var runs atomic.Int32
	c.books(func(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
		if runs.Add(1) == 1 {
			c.rmq.RefuseReplies(rmqtest.SendMessage, -1, 1)
		}
		return c.book(ctx, tx, m)
	}, false)
	c.send("A-1")
	eventually(t, "the step has run again", func() bool { return runs.Load() > 2 })
	if got := c.rows("book A-1"); got != 0 || c.stored() != 0 {
		t.Errorf("got %d bookings and %d halves, want none", got, c.stored())
	}
	c.rmq.ClearFaults()
	c.shipped("A-1")
}

func TestTheBrokerIsToldHowATransactionEnded(t *testing.T) {
	t.Parallel()
	for class, want := range map[store.Class]state{
		0:                primitive.CommitMessageState,
		store.NotApplied: primitive.RollbackMessageState,
		store.Unknown:    primitive.UnkonwnState,
	} {
		b := newOutgoingBench(t)
		if class != 0 {
			b.records.commit = &store.Error{Driver: "test", Op: "transact", Class: class, Err: errBoom}
		}
		p := &local{listener: b}
		cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
			return []*primitive.Message{primitive.NewMessage("next", nil)}, nil
		}))
		consume(t, cb, orderMessage("a"))
		if len(p.ends) != 1 || p.ends[0] != want {
			t.Errorf("%v: got %v, want %v", class, p.ends, want)
		}
	}
}

// A message that a step has not sent is nobody's transaction.
func TestAMessageOfNoStepIsRolledBack(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	if got := b.ExecuteLocalTransaction(primitive.NewMessage("next", nil)); got != primitive.RollbackMessageState {
		t.Errorf("got %v, want rolled back", got)
	}
}

// sender is a producer that does with a half what it is told to.
type sender func(*primitive.Message) (*primitive.TransactionSendResult, error)

func (s sender) Start() error { return nil }

func (s sender) SendMessageInTransaction(
	_ context.Context, m *primitive.Message,
) (*primitive.TransactionSendResult, error) {
	return s(m)
}

func TestAHalfThatGoesWrongFailsItsStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send func(*outgoingBench, *primitive.Message) (*primitive.TransactionSendResult, error)
		want any
		log  string
	}{
		"refused": {func(*outgoingBench, *primitive.Message) (*primitive.TransactionSendResult, error) {
			return nil, errBoom
		}, retry, errBoom.Error()},
		"the last of several refused": {func(b *outgoingBench, m *primitive.Message) (*primitive.TransactionSendResult, error) {
			if m.GetKeys() == "last" {
				time.Sleep(time.Second) // of the bubble: the other is stored by then
				return nil, errBoom
			}
			b.ExecuteLocalTransaction(m)
			return &primitive.TransactionSendResult{}, nil
		}, retry, errBoom.Error()},
		"not stored safely": {func(*outgoingBench, *primitive.Message) (*primitive.TransactionSendResult, error) {
			return &primitive.TransactionSendResult{State: primitive.RollbackMessageState}, nil
		}, retry, "did not store the message safely"},
		"a panic of the client": {func(*outgoingBench, *primitive.Message) (*primitive.TransactionSendResult, error) {
			panic(errBoom)
		}, retry, "panic"},
		"a panic after the commit": {func(b *outgoingBench, m *primitive.Message) (*primitive.TransactionSendResult, error) {
			b.ExecuteLocalTransaction(m)
			panic(errBoom)
		}, success, "the broker was not told"},
		"an error after the commit": {func(b *outgoingBench, m *primitive.Message) (*primitive.TransactionSendResult, error) {
			b.ExecuteLocalTransaction(m)
			return nil, errBoom
		}, success, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newOutgoingBench(t)
				p := sender(func(m *primitive.Message) (*primitive.TransactionSendResult, error) { return c.send(b, m) })
				cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
					return []*primitive.Message{primitive.NewMessage("next", nil), order("next", "last")}, nil
				}))
				if result, _ := consume(t, cb, orderMessage("a")); result != c.want {
					t.Errorf("got %v, want %v", result, c.want)
				}
				if log := b.log.String(); !strings.Contains(log, c.log) || c.log == "" && log != "" {
					t.Errorf("got the log %q, want %q", log, c.log)
				}
			})
		})
	}
}

func TestAStepOutsideOfATransactionFails(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	var h listener.TxHandler = b.Step(&local{listener: b},
		func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
			return []*primitive.Message{primitive.NewMessage("next", nil)}, nil
		})
	if err := h(t.Context(), nil, orderMessage("a")); err == nil {
		t.Error("got no error")
	}
}

// A message that a handler returns stays as it is: what the client writes into it
// would tie the next one to the same transaction.
func TestTheMessagesOfAStepStayAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	p := &local{listener: b}
	kept := primitive.NewMessage("next", []byte("body")).WithKeys([]string{"A-1"}).WithTag("paid")
	kept.Flag, kept.Queue = 7, &primitive.MessageQueue{QueueId: 3}
	cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
		return []*primitive.Message{kept}, nil
	}))
	for _, key := range []string{"a", "b"} {
		if result, _ := consume(t, cb, orderMessage(key)); result != success {
			t.Fatalf("got %v, want success", result)
		}
	}
	if got := len(kept.GetProperties()); got != 2 {
		t.Errorf("got %d properties, want the two that it had: %v", got, kept)
	}
	for _, half := range p.halves {
		if half.Topic != "next" || string(half.Body) != "body" || half.GetKeys() != "A-1" || half.GetTags() != "paid" ||
			half.Flag != 7 || half.Queue.QueueId != 3 {
			t.Errorf("got %v, want a copy of %v", half, kept)
		}
	}
	if p.halves[0].GetProperty("DEDUP_TX") == p.halves[1].GetProperty("DEDUP_TX") {
		t.Error("two transactions have the same mark")
	}
}
