package dedup

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Event tells what became of one delivery. It never holds a message's body.
type Event struct {
	Key         store.Key
	Redelivered bool // the broker said that it had delivered this message before
	Fallback    bool // the message had no business key: a default key was used
	Result
	WaitTime   time.Duration // before that, for a copy that this process was at
	ClaimTime  time.Duration // from the first claim to its answer, repeats included
	HoldTime   time.Duration // of that, held because the store did not answer
	RunTime    time.Duration // in the callback, a Verifier included
	SettleTime time.Duration // recording the end, repeats included
}

// Observer is told of every delivery, once, after its record was settled and
// before the caller learns of it. Observe must be safe for concurrent use and
// must not block: it runs on the path of every message. Its panics are logged
// and change no outcome.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// ObserverFunc is a function as an [Observer].
type ObserverFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Observers joins several observers into one that tells them in order. Nil
// observers are left out.
func Observers(all ...Observer) Observer {
	var list observers
	for _, o := range all {
		if o != nil {
			list = append(list, o)
		}
	}
	return list
}

type observers []Observer

func (l observers) Observe(ctx context.Context, e Event) {
	for _, o := range l {
		o.Observe(ctx, e)
	}
}
