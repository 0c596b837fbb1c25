package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// sendTime is how long the producer takes for all of its messages, if there are
// not too many of them.
const sendTime = 2 * time.Second

// body is that of a message.
type body struct {
	Order order `json:"order"`
}

type order struct {
	No string `json:"no"`
}

// plan is every order in turn, and between them those of the last fifty that are
// sent again.
func (s Settings) plan() (plan []string) {
	number := func(i int) string { return fmt.Sprintf("A-%06d", i+1) }
	random := rand.New(rand.NewPCG(s.Seed, 0))
	for i := range s.Messages {
		plan = append(plan, number(i))
		if random.IntN(100) < s.Resend {
			plan = append(plan, number(max(0, i-random.IntN(50))))
		}
	}
	return plan
}

// produce sends the plan at an even pace, each order as a new message.
func (s *scene) produce(ctx context.Context) error {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{s.broker.nameServer}),
		producer.WithGroupName(s.name),
		producer.WithInstanceName(store.NewToken().String()),
	)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	defer func() { _ = p.Shutdown() }() // the client returns nil, always
	pace := time.NewTicker(sendTime / time.Duration(len(s.plan)))
	defer pace.Stop()
	for _, no := range s.plan {
		if err := s.send(ctx, p, no); err != nil {
			return err
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.ledger.endSending()
	return nil
}

func (s *scene) send(ctx context.Context, p rocketmq.Producer, no string) error {
	text, err := json.Marshal(body{order{no}})
	if err != nil {
		return err
	}
	if _, err := p.SendSync(ctx, primitive.NewMessage(s.name, text)); err != nil {
		return fmt.Errorf("send %s: %w", no, err)
	}
	s.ledger.send()
	return nil
}
