package rmqtest

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options are what a broker can be told. The zero value works.
type Options struct {
	// DelayLevels are the delays of the levels 1, 2 and so on. The default is a
	// thousandth of RocketMQ's: 1ms, 5ms, 10ms, 30ms, 60ms … 7.2s. Tell the
	// listener the same by its DelayLevels.
	DelayLevels []time.Duration

	// Queues is the number of queues of a topic that the first message creates,
	// 1 to 1024. The default is 4.
	Queues int

	// CheckAfter is how long a half message waits for the end of its transaction
	// before its producer is asked, and between two questions. The default is
	// 200ms. After 15 questions the message is given up.
	CheckAfter time.Duration

	// LockExpiry is how long an orderly consumer holds a queue without asking
	// again. The default is RocketMQ's, one minute; the client asks every 20s.
	LockExpiry time.Duration

	// MaxBytes bounds the stored messages. The default is 256 MiB.
	MaxBytes int64

	// Seed decides what is left to chance: the queues of messages that name none.
	Seed uint64
}

const maxQueues = 1024

// rocketmqLevels is RocketMQ's messageDelayLevel.
var rocketmqLevels = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute, 6 * time.Minute,
	7 * time.Minute, 8 * time.Minute, 9 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour,
}

func (o Options) withDefaults() Options {
	o.DelayLevels = slices.Clone(o.DelayLevels)
	if len(o.DelayLevels) == 0 {
		for _, d := range rocketmqLevels {
			o.DelayLevels = append(o.DelayLevels, d/1000)
		}
	}
	if o.Queues == 0 {
		o.Queues = 4
	}
	if o.CheckAfter == 0 {
		o.CheckAfter = 200 * time.Millisecond
	}
	if o.LockExpiry == 0 {
		o.LockExpiry = time.Minute
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 256 << 20
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, d := range o.DelayLevels {
		if d <= 0 {
			refuse("DelayLevels[%d] is %v, want more than 0", i, d)
		}
	}
	if o.Queues < 1 || o.Queues > maxQueues {
		refuse("Queues is %d, want 1 to %d, or 0 for 4", o.Queues, maxQueues)
	}
	if o.CheckAfter < 0 {
		refuse("CheckAfter is %v, want more than 0, or 0 for 200ms", o.CheckAfter)
	}
	if o.LockExpiry < 0 {
		refuse("LockExpiry is %v, want more than 0, or 0 for 1m", o.LockExpiry)
	}
	if o.MaxBytes < 0 {
		refuse("MaxBytes is %d, want more than 0, or 0 for 256 MiB", o.MaxBytes)
	}
	return errors.Join(errs...)
}
