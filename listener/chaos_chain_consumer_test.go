package listener_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The shops of the two steps. A row of either is a booking: the key, and behind @
// the run of the first step that has booked it. So a shipment tells on whose word
// it was made.
func bookShop() *shop { return &shop{orders: "orders", stock: "stock"} }
func shipShop() *shop { return &shop{orders: "shipments", stock: "shelves"} }

// keyOf is the key of a booking, or of what is none.
func keyOf(booking string) string {
	key, _, _ := strings.Cut(booking, "@")
	return key
}

// bookedBy is the process of a booking.
func bookedBy(booking string) (process int) {
	var run int
	if _, err := fmt.Sscanf(strings.TrimPrefix(booking, keyOf(booking)), "@%d.%d", &process, &run); err != nil {
		panic(fmt.Sprintf("not a booking: %q: %v", booking, err))
	}
	return process
}

// joinChain joins the groups of both steps, the second one first, and leaves them
// the other way round.
func (s *sailor) joinChain() (leave func(context.Context) error, err error) {
	records, _, err := s.Place.openMySQL()
	if err != nil {
		return nil, err
	}
	stopShipping, err := s.joinShipping(records)
	if err != nil {
		return nil, err
	}
	stopBooking, err := s.joinBooking(records)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return errors.Join(stopBooking(ctx), stopShipping(ctx)) }, nil
}

func (s *sailor) joinBooking(records txStore) (leave func(context.Context) error, err error) {
	var p rocketmq.TransactionProducer
	stop, err := s.enlist(s.Place, s.unreliable(records), s, func(m *member) error {
		out, err := m.Outgoing()
		if err != nil {
			return err
		}
		if p, err = s.Place.newOut(scribe{out, s}, m.name); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		if err := out.Start(ctx, p, s.Place.Next); err != nil {
			return err
		}
		return m.SubscribeTx(m.client, s.Place.Topic, consumer.MessageSelector{}, out.Step(p, s.handOver))
	})
	return func(ctx context.Context) error { return errors.Join(stop(ctx), p.Shutdown()) }, err
}

func (s *sailor) joinShipping(records store.Store) (leave func(context.Context) error, err error) {
	p := s.Place
	p.Group += "-next"
	return s.enlist(p, records, nil, func(m *member) error {
		client := noting{m.client, func(m *primitive.MessageExt) { s.note(arrived, 0, string(m.Body)) }}
		return m.SubscribeTx(client, s.Place.Next, consumer.MessageSelector{}, s.ship)
	})
}

// unreliable is records whose transactions are long just before and just after
// their commit, for a kill to meet them there. Some fail then, either way: so
// nobody knows how they ended, and the broker must ask.
func (s *sailor) unreliable(records txStore) brittle {
	linger := func() error {
		time.Sleep(rand.N(100 * time.Millisecond))
		if rand.IntN(30) == 0 {
			return errBoom
		}
		return nil
	}
	return brittle{records, linger, linger}
}

// handOver is the first step.
func (s *sailor) handOver(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
	booking := fmt.Sprintf("%s@%d.%d", m.GetKeys(), s.Number, s.bookings.Add(1))
	err := s.run(m, func() error {
		return bookShop().book(ctx, tx, booking, func() error {
			return taking(usual()+rand.N(100*time.Millisecond))(ctx, m)
		})
	})
	return []*primitive.Message{primitive.NewMessage(s.Place.Next, []byte(booking)).WithKeys([]string{m.GetKeys()})}, err
}

// ship is the second step.
func (s *sailor) ship(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	return s.run(m, func() error {
		return shipShop().book(ctx, tx, string(m.Body), func() error { return taking(usual())(ctx, m) })
	})
}

// scribe notes what the broker is answered when it asks, and how late: it stores a
// message anew with each question.
type scribe struct {
	primitive.TransactionListener
	sailor *sailor
}

func (b scribe) CheckLocalTransaction(m *primitive.MessageExt) state {
	answer := b.TransactionListener.CheckLocalTransaction(m)
	kind := byte(leftOpen)
	switch answer {
	case primitive.CommitMessageState:
		kind = published
	case primitive.RollbackMessageState:
		kind = withdrawn
	}
	if booking := string(m.Body); keyOf(booking) != booking { // else it was sent to be known
		b.sailor.note(kind, int(time.Since(time.UnixMilli(m.StoreTimestamp)).Milliseconds()), booking)
	}
	return answer
}
