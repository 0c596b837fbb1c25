package listenertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// Fate is what becomes of a message after its delivery. The zero Fate is
// Unanswered, which acknowledges nothing.
type Fate uint8

// The fates of a message.
const (
	Unanswered   Fate = iota // the client got no answer, or no longer wanted it: the same copy is delivered again
	Acknowledged             // the message is finished
	SentBack                 // it comes back through the retry topic, as [Consumer.Retry] makes it
	Dead                     // it goes to the dead-letter queue; of a batch, at least one message does
)

var fateNames = [...]string{"unanswered", "acknowledged", "sent back", "dead"}

// String is the fate in lower case.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return fmt.Sprintf("Fate(%d)", uint8(f))
}

// Answer is what a callback made of one delivery.
type Answer struct {
	Fate   Fate
	Result consumer.ConsumeResult // as returned

	// DelayLevel is what the callback left in the ConsumeConcurrentlyContext: 0
	// lets the broker choose 3 + the retries so far, -1 means the dead-letter queue.
	DelayLevel int

	// Err is the error that was returned, which the client only logs, or a
	// [*dedup.PanicError] or [dedup.ErrGoexit].
	Err error

	// Events are those of this delivery, if [Observer] was given to the listener.
	Events []dedup.Event
}

// String is the fate, with the delay level or the error where there is one.
func (a Answer) String() string {
	s := a.Fate.String()
	if a.Fate == SentBack && a.DelayLevel != 0 {
		s += fmt.Sprintf(", level %d", a.DelayLevel)
	}
	if a.Err != nil {
		s += ": " + a.Err.Error()
	}
	return s
}

// Observer puts the events of a listener into the [Answer] of the delivery that
// each belongs to: [listener.Options].Guard.Observer takes it, alone or with
// others by [dedup.Observers].
func Observer() dedup.Observer { return dedup.ObserverFunc(observe) }

func observe(ctx context.Context, e dedup.Event) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	}
}

type notesKey struct{}

// notes are the events of one delivery, found by its context.
type notes struct {
	mu     sync.Mutex // guards events
	events []dedup.Event
}

func (n *notes) all() []dedup.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.events
}
