package listenertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// maxDeliveries bounds a message that never ends, such as one whose callback
// panics each time without a listener.
const maxDeliveries = 40

// Records is a store with all abilities; memstore and redisstore have them.
type Records interface {
	store.Store
	store.Renewer
	store.Batcher
	store.Parker
	store.Fencer
}

// Run is one run of [TestCrashes]. Only Effect and String are for concurrent use.
// The zero Run has no fault: for tests that share a double with TestCrashes.
type Run struct {
	// Records are what outlives a crash of all that the listener knows: at first an
	// empty memstore. Set it before Start to test with another.
	Records Records

	fault   Fault
	at      place
	start   func(*Consumer, store.Store) error
	log     commitLog
	process *process // that gets the next delivery
	lives   int      // processes so far
	broken  error    // the run itself went wrong

	unrecorded bool // a message may be acknowledged whose complete was refused

	mu     sync.Mutex // guards what follows, and what processes and turns say is guarded
	seen   map[place]int
	places []place // in the order in which they were reached
	fired  bool
	turns  []*turn
}

func newRun(at place, f Fault) *Run {
	records, err := memstore.New(memstore.Options{})
	return &Run{Records: records, fault: f, at: at, broken: err}
}

// String is the fault of this run and its place, such as crash after "charge". A
// place that a run comes by again is numbered, as in crash after "charge" #2.
func (r *Run) String() string {
	if r.fault == 0 {
		return r.fault.String()
	}
	return fmt.Sprintf("%v %v", r.fault, r.at)
}

// Start starts a process: start makes the listener on the records that it is
// given, which it must not bypass, and subscribes it to the consumer, as the
// user's program does. It is called again after a crash, and for every other
// process that takes a message over.
func (r *Run) Start(start func(c *Consumer, records store.Store) error) {
	r.start = start
	r.succeed()
}

// Deliver delivers msgs as one batch until they are finished or dead: sent back,
// they come as the retry topic brings them, and unanswered, the same copies come to
// a new process. It waits for no delay: what the process before has claimed counts
// as lapsed by then. The Answer is the one that ended it.
func (r *Run) Deliver(msgs ...*primitive.Message) Answer {
	if r.process == nil {
		r.fail(errors.New("Deliver was called before Start"))
	}
	if r.broken != nil {
		return Answer{Err: r.broken}
	}
	copies := make([]*primitive.MessageExt, len(msgs))
	for i, m := range msgs {
		copies[i] = r.process.consumer.Message(m)
	}
	a := r.finish(copies)
	if a.Fate == Acknowledged && (r.reach(place{step: acknowledgement}) == CopyAfter || r.unrecorded) {
		r.unrecorded = false
		r.succeed()
		r.finish(copies)
	}
	return a
}

// finish delivers copies to the current process until they need no more.
func (r *Run) finish(copies []*primitive.MessageExt) (a Answer) {
	for range maxDeliveries {
		if r.broken != nil {
			return Answer{Err: r.broken}
		}
		p := r.process
		a = p.deliver(copies)
		switch a.Fate {
		case Acknowledged, Dead:
			return a
		case SentBack:
			for i, m := range copies {
				copies[i] = p.consumer.Retry(m, a.DelayLevel)
			}
			p.lapse() // the delay covers what is left of a claim
		default:
			r.succeed()
		}
	}
	r.fail(fmt.Errorf("not finished after %d deliveries, the last one was %v", maxDeliveries, a))
	return a
}

// succeed starts a process in the place of the current one.
func (r *Run) succeed() {
	if r.process != nil {
		r.process.lapse()
	}
	r.lives++
	r.process = newProcess(r, r.lives)
	if err := r.start(r.process.consumer, records{r.process, r.Records}); err != nil {
		r.fail(fmt.Errorf("start: %w", err))
	}
}

// Effect marks do as an effect of a handler, or of what a test puts in the place
// of its database or payment service, and returns its error. In a run with a
// fault it may panic, end the goroutine, return [ErrRefused] without calling do or
// [ErrReplyLost] after it. ctx is the handler's, or made of it.
func (r *Run) Effect(ctx context.Context, name string, do func() error) error {
	t := r.turnOf(ctx)
	t.exitIfDead()
	fault := r.reach(place{effect: name})
	switch fault {
	case CrashBefore:
		t.crash()
	case PanicBefore:
		t.panic()
	case Refused:
		t.note(name + " refused")
		return ErrRefused
	case LeaseLost, Cancelled:
		r.overtake(ctx, t, fault == Cancelled)
	}
	err := do()
	t.note(name)
	switch {
	case fault == CrashAfter:
		t.crash()
	case fault == PanicAfter:
		t.panic()
	case fault == ReplyLost && err == nil:
		t.note("reply lost")
		return ErrReplyLost
	}
	return err
}

// overtake has another process finish what t is delivering.
func (r *Run) overtake(ctx context.Context, t *turn, cancelled bool) {
	t.note("lease lost")
	mine := r.process
	r.succeed()
	r.finish(slices.Clone(t.msgs))
	r.process = mine
	if cancelled && ctx.Done() != nil {
		<-ctx.Done()
	}
}

// reach counts a place that the run has come to, and returns the fault to happen
// there.
func (r *Run) reach(p place) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[place]int)
	}
	r.seen[p]++
	p.nth = r.seen[p]
	r.places = append(r.places, p)
	if r.fired || r.fault == 0 || p != r.at {
		return 0
	}
	r.fired = true
	return r.fault
}

// try runs body and makes what went wrong a *Failure.
func (r *Run) try(body func(*Run) error) error {
	err := body(r)
	if r.fault != 0 && !r.fired {
		r.fail(errors.New("the place was not reached again: is there chance or concurrency in the test?"))
	}
	if err = errors.Join(err, r.broken); err == nil {
		return nil
	}
	return &Failure{Point: r.String(), Trace: r.trace(), Err: err}
}

func (r *Run) fail(err error) {
	if r.broken == nil {
		r.broken = err
	}
}
