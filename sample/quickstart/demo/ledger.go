package demo

import (
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// ledger is the business: it writes down which order was charged how often, and
// knows nothing of the store.
type ledger struct {
	orders   int
	messages int
	before   int      // orders that the book has as charged and recorded
	open     []string // orders that the book has as charged only: the kill came before the record, or before its line
	book     *book    // nil without a file

	mu       sync.Mutex // guards what follows
	sent     int
	sending  bool
	charged  map[string]int  // charges by order
	finished map[string]bool // message ids that were acknowledged
	outcomes map[dedup.Outcome]int
	last     time.Time // when something happened
}

// newLedger begins with what the book says of the plan's orders.
func newLedger(plan []string, b *book) *ledger {
	l := &ledger{
		messages: len(plan), book: b, sending: true, last: time.Now(),
		charged: map[string]int{}, finished: map[string]bool{}, outcomes: map[dedup.Outcome]int{},
	}
	orders := map[string]bool{}
	for _, order := range plan {
		if orders[order] {
			continue
		}
		orders[order] = true
		switch {
		case b == nil:
		case b.recorded[order]:
			l.charged[order] = 1
		case b.charged[order] > 0:
			l.open = append(l.open, order)
		}
	}
	l.orders, l.before = len(orders), len(l.charged)
	return l
}

func (l *ledger) charge(order string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.book != nil {
		if err := l.book.write(charged, order); err != nil {
			return err
		}
	}
	l.charged[order]++
	l.last = time.Now()
	return nil
}

func (l *ledger) finish(messageID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished[messageID] = true
	l.last = time.Now()
}

func (l *ledger) observe(o dedup.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[o]++
	l.last = time.Now()
}

func (l *ledger) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
}

func (l *ledger) endSending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sending = false
}

// quiet is for how long nothing happens when all is over: late copies of
// finished messages come with a rebalance, within some milliseconds.
const quiet = 300 * time.Millisecond

// over reports whether every message was acknowledged.
func (l *ledger) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.sending && len(l.finished) == l.sent && time.Since(l.last) > quiet
}

// share reports whether a share of the messages, in percent, was acknowledged.
func (l *ledger) share(percent int) func() bool {
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return 100*len(l.finished) >= percent*l.messages
	}
}

// left is how many of the messages sent are not acknowledged yet.
func (l *ledger) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent - len(l.finished)
}

// silence is for how long nothing has happened.
func (l *ledger) silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last)
}

func (l *ledger) result() Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Result{
		Sent: l.sent, Distinct: l.orders, Lost: l.orders - len(l.charged),
		Skipped: l.outcomes[dedup.Skipped], Deferred: l.outcomes[dedup.Deferred],
		unfinished: l.sent - len(l.finished),
	}
	for _, order := range l.open {
		if l.charged[order] == 0 { // it was recorded after all, and skipped
			r.Lost--
		}
	}
	for _, times := range l.charged {
		r.Ran += times
		r.Extra += times - 1
	}
	r.Ran -= l.before
	return r
}
