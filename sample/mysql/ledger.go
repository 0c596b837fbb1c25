package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/tidwall/gjson"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// ledger is the business: it charges orders, and counts without asking the store.
type ledger struct {
	orders, sent int

	mu       sync.Mutex // guards what follows
	failing  map[string]bool
	charged  map[string]int // finished callbacks
	outcomes map[dedup.Outcome]int
}

func newLedger(orders int) *ledger {
	b := &ledger{
		orders: orders, failing: map[string]bool{}, charged: map[string]int{}, outcomes: map[dedup.Outcome]int{},
	}
	for i := 0; i < orders; i += 5 {
		b.failing[number(i)] = true
	}
	return b
}

func number(i int) string { return fmt.Sprintf("A-%04d", i) }

// copies is how often an order is sent again.
func copies(i int) int {
	if i%3 == 0 {
		return 1
	}
	return 0
}

// charge is the callback.
func (b *ledger) charge(_ context.Context, m *primitive.MessageExt) error {
	no := gjson.GetBytes(m.Body, "order.no").String()
	time.Sleep(20 * time.Millisecond) // the work
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing[no] {
		b.failing[no] = false
		return errors.New("the bank does not answer")
	}
	b.charged[no]++
	return nil
}

// Observe is told what became of every delivery.
func (b *ledger) Observe(_ context.Context, e dedup.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes[e.Outcome]++
}

func (b *ledger) halfDone() bool { return len(b.charged) >= b.orders/2 }

func (b *ledger) allDone() bool {
	return len(b.charged) == b.orders && b.outcomes[dedup.Ran]+b.outcomes[dedup.Skipped] >= b.sent
}

// await waits until done, which is asked under the lock.
func (b *ledger) await(ctx context.Context, done func() bool) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		b.mu.Lock()
		ok := done()
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return errors.New("not everything was done in time")
		}
	}
}

func (b *ledger) extra() (n int) {
	for _, times := range b.charged {
		n += times - 1
	}
	return n
}

func (b *ledger) lost() int { return b.orders - len(b.charged) }

func (b *ledger) wrong() bool { return b.extra() != 0 || b.lost() != 0 }

// String is the last line.
func (b *ledger) String() string {
	return fmt.Sprintf("sent=%d distinct=%d ran=%d extra=%d skipped=%d deferred=%d lost=%d",
		b.sent, b.orders, len(b.charged)+b.extra(), b.extra(),
		b.outcomes[dedup.Skipped], b.outcomes[dedup.Deferred], b.lost())
}
