package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// Ledger is the business of the samples that charge orders. It counts without asking
// the store, and is the observer of the listeners. Make it with [NewLedger].
type Ledger struct {
	sent, orders int

	mu       sync.Mutex // guards what follows
	failing  map[string]bool
	charged  map[string]int // finished callbacks
	outcomes map[dedup.Outcome]int
}

// NewLedger returns one for messages about the orders with these numbers, of which
// some fail when they are charged for the first time.
func NewLedger(numbers, failing []string) *Ledger {
	l := &Ledger{
		sent: len(numbers), failing: map[string]bool{}, charged: map[string]int{}, outcomes: map[dedup.Outcome]int{},
	}
	different := map[string]bool{}
	for _, no := range numbers {
		different[no] = true
	}
	l.orders = len(different)
	for _, no := range failing {
		l.failing[no] = true
	}
	return l
}

// Charge charges an order, which takes 20 ms.
func (l *Ledger) Charge(no string) error {
	time.Sleep(20 * time.Millisecond) // the work
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing[no] {
		l.failing[no] = false
		return errors.New("the bank does not answer")
	}
	l.charged[no]++
	return nil
}

// Observe is told what became of every delivery.
func (l *Ledger) Observe(_ context.Context, e dedup.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[e.Outcome]++
}

// RestartHalfWay has two consumers charge the orders that send sends. When half of
// them are charged the second consumer is stopped, and another takes its place. start
// starts one, and returns what stops it. That not all are charged when ctx ends is
// printed, but no error: [Ledger.Conclude] tells it.
func (l *Ledger) RestartHalfWay(
	ctx context.Context, start func() (stop func() error, err error), send func() error,
) error {
	stopOne, err := start()
	if err != nil {
		return err
	}
	stopTwo, err := start()
	if err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	if err := l.await(ctx, l.halfDone); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "half of the orders are charged: restarting the second consumer")
	if err := stopTwo(); err != nil {
		return err
	}
	if stopTwo, err = start(); err != nil {
		return err
	}
	if err := l.await(ctx, l.allDone); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return errors.Join(stopOne(), stopTwo())
}

// Conclude prints the last line, and fails unless every order was charged once.
func (l *Ledger) Conclude() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ran := 0
	for _, times := range l.charged {
		ran += times
	}
	extra, lost := ran-len(l.charged), l.orders-len(l.charged)
	fmt.Printf("sent=%d distinct=%d ran=%d extra=%d skipped=%d deferred=%d lost=%d\n",
		l.sent, l.orders, ran, extra, l.outcomes[dedup.Skipped], l.outcomes[dedup.Deferred], lost)
	if extra != 0 || lost != 0 {
		return errors.New("not every order was charged once")
	}
	return nil
}

func (l *Ledger) halfDone() bool { return len(l.charged) >= l.orders/2 }

func (l *Ledger) allDone() bool {
	return len(l.charged) == l.orders && l.outcomes[dedup.Ran]+l.outcomes[dedup.Skipped] >= l.sent
}

// await waits until done, which is asked under the lock.
func (l *Ledger) await(ctx context.Context, done func() bool) error {
	return Await(ctx, func() (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return done(), nil
	})
}
