package stage

import (
	"context"
	"fmt"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Number is that of an order, such as A-0017.
func Number(i int) string { return fmt.Sprintf("A-%04d", i) }

// EveryThirdTwice returns the numbers of so many orders in turn, those of every third
// twice.
func EveryThirdTwice(orders int) (numbers []string) {
	for i := range orders {
		numbers = append(numbers, Number(i))
		if i%3 == 0 {
			numbers = append(numbers, Number(i))
		}
	}
	return numbers
}

// Send sends the message of each order in turn.
func (r Run) Send(ctx context.Context, numbers []string, message func(no string) *primitive.Message) error {
	p, err := r.Producer()
	if err != nil {
		return err
	}
	defer func() { _ = p.Shutdown() }() // it has nothing of ours left
	for _, no := range numbers {
		if _, err := p.SendSync(ctx, message(no)); err != nil {
			return err
		}
	}
	return nil
}

// Producer returns one that is started. Shut it down.
func (r Run) Producer() (rocketmq.Producer, error) {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{r.NameServer}),
		producer.WithInstanceName(store.NewToken().String()),
	)
	if err != nil {
		return nil, err
	}
	return p, p.Start()
}
