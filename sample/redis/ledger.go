package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/tidwall/gjson"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// ledger is the business: it charges orders, and counts without asking the store.
type ledger struct {
	settings settings
	sent     int

	mu       sync.Mutex // guards what follows
	failing  map[string]bool
	charged  map[string]int // finished callbacks
	outcomes map[dedup.Outcome]int
}

func newLedger(s settings) *ledger {
	b := &ledger{
		settings: s, failing: map[string]bool{}, charged: map[string]int{}, outcomes: map[dedup.Outcome]int{},
	}
	random := rand.New(rand.NewPCG(s.seed, 1))
	for i := range s.orders {
		b.failing[number(i)] = random.IntN(100) < s.fail
	}
	return b
}

func number(i int) string { return fmt.Sprintf("A-%04d", i) }

// plan is every order in turn, and between them those of the last twenty that
// are sent again.
func (b *ledger) plan() (plan []string) {
	random := rand.New(rand.NewPCG(b.settings.seed, 2))
	for i := range b.settings.orders {
		plan = append(plan, number(i))
		if random.IntN(100) < b.settings.resend {
			plan = append(plan, number(max(0, i-random.IntN(20))))
		}
	}
	return plan
}

var errCharge = errors.New("the bank does not answer")

// charge is the callback.
func (b *ledger) charge(_ context.Context, m *primitive.MessageExt) error {
	no := gjson.GetBytes(m.Body, "order.no").String()
	time.Sleep(20 * time.Millisecond) // the work
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing[no] {
		b.failing[no] = false
		return errCharge
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

func (b *ledger) halfDone() bool { return len(b.charged) >= b.settings.orders/2 }

func (b *ledger) allDone() bool {
	return len(b.charged) == b.settings.orders && b.outcomes[dedup.Ran]+b.outcomes[dedup.Skipped] >= b.sent
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

func (b *ledger) lost() int { return b.settings.orders - len(b.charged) }

func (b *ledger) wrong() bool { return b.extra() != 0 || b.lost() != 0 }

// String is the last line.
func (b *ledger) String() string {
	return fmt.Sprintf("sent=%d distinct=%d ran=%d extra=%d skipped=%d deferred=%d lost=%d",
		b.sent, b.settings.orders, len(b.charged)+b.extra(), b.extra(),
		b.outcomes[dedup.Skipped], b.outcomes[dedup.Deferred], b.lost())
}
