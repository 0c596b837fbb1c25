package dedup

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var (
	// ErrJournalFull is wrapped when a claim is not sent because successes that
	// could not be recorded yet fill the journal.
	ErrJournalFull = errors.New("dedup: journal is full")
	// ErrUnrecorded says that the callback of the key has succeeded in this
	// process and that the copy has to wait until that is recorded.
	ErrUnrecorded = errors.New("dedup: success is not recorded yet")
)

// journalRound is how many successes are recorded in one call.
const journalRound = 256

// journal keeps the successes that the store did not take, and goes on recording
// them in a goroutine that lives as long as there are any. At its limit the
// guard stops claiming; what runs by then still finds room.
type journal struct {
	guard *Guard
	size  atomic.Int32 // of queue, read on the path of every claim

	mu     sync.Mutex // guards what follows
	queue  []*entry   // in the order of their next try
	byKey  map[store.Key]*entry
	stuck  bool               // the last round recorded nothing
	cancel context.CancelFunc // of the goroutine; nil while there is none
	idle   chan struct{}      // closed when the latest goroutine ends; nil before the first
	closed bool               // takes no more
}

// entry is one success.
type entry struct {
	claim  store.Claim
	keep   time.Duration
	over   time.Duration // when keep ends: then there is nothing left to record
	strict bool          // copies wait until it is recorded

	done       chan struct{} // closed when it is recorded or given up
	completion store.Completion
	err        error // why it is not recorded
}

func newJournal(g *Guard) *journal { return &journal{guard: g, byKey: map[store.Key]*entry{}} }

func (j *journal) full() bool { return int(j.size.Load()) >= j.guard.options.JournalLimit }

// find returns the entry of k, or nil.
func (j *journal) find(k *store.Key) *entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.byKey[*k]
}

// fails reports whether the store did not take what waits when last asked.
func (j *journal) fails() bool {
	if j.size.Load() == 0 {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stuck
}

// add takes e, or finds the entry that its key has. It returns nil when the
// journal takes no more.
func (j *journal) add(e *entry) *entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.byKey[e.claim.Key]; known != nil {
		return known
	}
	if j.closed {
		return nil
	}
	e.done, e.over = make(chan struct{}), j.guard.now()+e.keep
	j.byKey[e.claim.Key] = e
	j.queue = append(j.queue, e)
	j.size.Store(int32(len(j.queue)))
	if j.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		j.cancel, j.idle = cancel, make(chan struct{})
		go j.work(ctx, j.idle)
	}
	return e
}

// work records entries until there are none or ctx ends, with a pause after each
// call by which none was recorded.
func (j *journal) work(ctx context.Context, idle chan<- struct{}) {
	defer close(idle)
	recorded := 0
	for {
		round := j.next(ctx)
		if round == nil {
			break
		}
		n := j.settle(round, j.record(ctx, round))
		if recorded += n; n == 0 {
			pause(ctx, spread())
		}
	}
	j.guard.log(ctx, slog.LevelWarn, func() (string, []slog.Attr) {
		return "dedup: the journal has recorded what it could", []slog.Attr{
			slog.Int("recorded", recorded), slog.Int("left", int(j.size.Load())),
		}
	})
}

// next returns the entries to try, or nil when there are none or ctx has ended.
func (j *journal) next(ctx context.Context) []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.queue), journalRound)
	if j.guard.batcher == nil {
		n = min(n, 1)
	}
	if n == 0 || ctx.Err() != nil {
		j.cancel()
		j.cancel, j.stuck = nil, false
		return nil
	}
	return j.queue[:n]
}

// record asks the store once.
func (j *journal) record(ctx context.Context, round []*entry) []store.SettleAnswer {
	g := j.guard
	call, done := g.deadline(ctx)
	defer done()
	if len(round) == 1 {
		c, err := g.store.Complete(call, round[0].claim.Key, round[0].claim.Token, round[0].keep)
		return []store.SettleAnswer{{Completion: c, Err: err}}
	}
	settlements := make([]store.Settlement, len(round))
	for i, e := range round {
		settlements[i] = store.Settlement{Claim: e.claim, Keep: e.keep}
	}
	return g.batcher.SettleBatch(call, settlements)
}

// settle takes out what is recorded, puts the rest of the round behind the others
// and returns how many were recorded.
func (j *journal) settle(round []*entry, answers []store.SettleAnswer) (recorded int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	queue := append([]*entry(nil), j.queue[len(round):]...)
	now := j.guard.now()
	for i, e := range round {
		a := answerAt(answers, i, store.SettleAnswer{Err: errNoVerdict})
		if a.Err == nil && a.Completion == 0 {
			a.Err = errNoVerdict
		}
		e.completion, e.err = a.Completion, a.Err
		if a.Err != nil && now < e.over {
			queue = append(queue, e)
			continue
		}
		if a.Err == nil {
			recorded++
		}
		delete(j.byKey, e.claim.Key)
		close(e.done)
	}
	j.queue, j.stuck = queue, recorded == 0
	j.size.Store(int32(len(queue)))
	return recorded
}

// flush waits until the journal is empty or ctx ends, closes it and returns what
// is left.
func (j *journal) flush(ctx context.Context) []*entry {
	j.mu.Lock()
	idle := j.idle
	j.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
		}
	}
	j.mu.Lock()
	if j.closed = true; j.cancel != nil {
		j.cancel()
	}
	idle = j.idle
	j.mu.Unlock()
	if idle != nil {
		<-idle
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.queue
}
