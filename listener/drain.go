package listener

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// offsetPause is how long the client gets to note the offsets of the callbacks
// that ended last; it gives no sign of having done so. Measured: with it a
// successor runs nothing twice.
const offsetPause = 100 * time.Millisecond

// Stopper is the part of a push consumer that Shutdown needs;
// rocketmq.PushConsumer is one. If it has a method Suspend too, as that has, no
// more messages are pulled from the beginning of the drain on.
type Stopper interface{ Shutdown() error }

// suspend keeps c from pulling. A client that stores what it has pulled while
// Shutdown closes its queues panics, and takes the process with it.
func suspend(c Stopper) {
	if s, ok := c.(interface{ Suspend() }); ok {
		s.Suspend()
	}
}

// Shutdown drains the listener and then stops c: no further callback starts,
// those that run end and are recorded, and only then does the consumer leave
// its group. Its messages go to the rest of the group at once, none of the
// finished ones again. Those that are held because the store does not answer
// are given up at once, without the loss of a retry.
//
// When ctx ends first the contexts of the callbacks still running are cancelled
// with cause [ErrDraining], c is stopped all the same, and the error tells how
// many were left: their messages are delivered again after their lease, without
// the loss of a retry. Successes that the store did not take are recorded until
// then; the error tells how many are left, and the log their keys. The listener
// cannot be used again. Further calls return an error.
func (l *DedupConcurrentListener) Shutdown(ctx context.Context, c Stopper) error {
	if c == nil {
		return errors.New("listener: shutdown: the consumer is nil")
	}
	if !l.gate.close() {
		return errors.New("listener: shutdown was called before")
	}
	suspend(c)
	l.guard.StopWaiting()
	var left error
	select {
	case <-l.gate.idle:
	case <-ctx.Done():
		left = fmt.Errorf("%w: %d callbacks are still running: %w", ErrDraining, l.gate.running(), ctx.Err())
		l.gate.cancel(ErrDraining)
	}
	err := l.stop(c)
	return errors.Join(left, err, l.guard.Flush(ctx))
}

// stop stops c and lets go those who wait for that.
func (l *DedupConcurrentListener) stop(c Stopper) error {
	defer close(l.gate.over)
	time.Sleep(offsetPause)
	if err := c.Shutdown(); err != nil {
		return fmt.Errorf("listener: shutdown of the consumer: %w", err)
	}
	return nil
}
