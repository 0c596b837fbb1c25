package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// tally counts what a consumer does, outside of any store: which messages were
// acknowledged, how often each key ran, and how long callbacks took. Its window
// goes from the first callback to the acknowledgement of the last message.
type tally struct {
	work     time.Duration
	interval time.Duration // between two messages; 0: as fast as they come

	acked    []atomic.Bool  // by number of the message
	runs     []atomic.Int32 // by number of the key
	left     atomic.Int64   // messages that are not acknowledged yet
	deferred atomic.Int64   // messages in callbacks that asked for another delivery
	foreign  atomic.Int64   // messages that are none of ours
	paced    atomic.Int64   // messages that were given a time to begin

	first      sync.Once
	begun, end mark
	done       chan struct{} // closed when nothing is left

	mu    sync.Mutex      // guards what follows
	added []time.Duration // of each callback
}

// mark is a moment on the clocks that the window is measured with.
type mark struct {
	at    time.Time
	cpu   time.Duration // of this process
	trips int64
}

func newTally(s stage) *tally {
	t := &tally{
		work: s.Work, acked: make([]atomic.Bool, s.Messages), runs: make([]atomic.Int32, s.Distinct),
		done: make(chan struct{}), added: make([]time.Duration, 0, s.Messages),
	}
	t.left.Store(int64(s.Messages))
	if s.Rate > 0 {
		t.interval = time.Second / time.Duration(s.Rate)
	}
	return t
}

// around returns cb as it is given to the consumer. now tells the marks.
func (t *tally) around(cb listener.Callback, now func() mark) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		t.first.Do(func() { t.begun = now() })
		t.pace(len(msgs))
		var u *userTime
		if t.work > 0 {
			u = new(userTime)
			ctx = context.WithValue(ctx, userTimeKey{}, u)
		}
		began := time.Now()
		result, err := cb(ctx, msgs...)
		t.callback(time.Since(began) - u.total())
		if err != nil || result != consumer.ConsumeSuccess {
			t.deferred.Add(int64(len(msgs)))
		} else if t.acknowledge(msgs) {
			t.end = now()
			close(t.done)
		}
		return result, err
	}
}

// pace waits until the first of n messages may begin at the offered rate.
func (t *tally) pace(n int) {
	if t.interval > 0 {
		before := t.paced.Add(int64(n)) - int64(n)
		time.Sleep(time.Until(t.begun.at.Add(time.Duration(before) * t.interval)))
	}
}

func (t *tally) callback(added time.Duration) {
	t.mu.Lock()
	t.added = append(t.added, added)
	t.mu.Unlock()
}

// acknowledge reports whether msgs were the last ones.
func (t *tally) acknowledge(msgs []*primitive.MessageExt) (last bool) {
	var fresh int64
	for _, m := range msgs {
		n, _, err := numbers(m.Body)
		switch {
		case err != nil || n >= len(t.acked):
			t.foreign.Add(1)
		case t.acked[n].CompareAndSwap(false, true):
			fresh++
		}
	}
	return fresh > 0 && t.left.Add(-fresh) == 0
}

// handle is the user code that every contender calls.
func (t *tally) handle(ctx context.Context, m *primitive.MessageExt) error {
	_, key, err := numbers(m.Body)
	if err != nil || key >= len(t.runs) {
		t.foreign.Add(1)
		return nil
	}
	t.runs[key].Add(1)
	if t.work > 0 {
		u, _ := ctx.Value(userTimeKey{}).(*userTime)
		u.enter()
		time.Sleep(t.work)
		u.leave()
	}
	return nil
}

// report is what became of the run.
func (t *tally) report() report {
	elapsed, micros := t.end.at.Sub(t.begun.at).Seconds(), (t.end.cpu-t.begun.cpu).Seconds()*1e6
	acknowledged, deferred := len(t.acked)-int(t.left.Load()), int(t.deferred.Load())
	var lost, extra int
	for i := range t.runs {
		n := int(t.runs[i].Load())
		lost, extra = lost+max(0, 1-n), extra+max(0, n-1)
	}
	added := t.latencies()
	p50, p99 := percentile(added, 50), percentile(added, 99)
	trips := t.end.trips - t.begun.trips
	return report{
		Messages: &acknowledged, Lost: &lost, Extra: &extra, Deferred: &deferred,
		Seconds: &elapsed, CPU: &micros, P50: &p50, P99: &p99, Trips: &trips,
	}
}

// latencies are the times of callbacks in microseconds, sorted.
func (t *tally) latencies() []float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	micros := make([]float64, len(t.added))
	for i, d := range t.added {
		micros[i] = float64(d) / 1e3
	}
	slices.Sort(micros)
	return micros
}

type userTimeKey struct{}

// userTime is the time during which user code runs in one callback: once, however
// many of a batch's messages run at the same time. A nil userTime is none.
type userTime struct {
	mu     sync.Mutex // guards what follows
	inside int
	since  time.Time
	sum    time.Duration
}

func (u *userTime) enter() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.inside++; u.inside == 1 {
		u.since = time.Now()
	}
}

func (u *userTime) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.inside--; u.inside == 0 {
		u.sum += time.Since(u.since)
	}
}

func (u *userTime) total() time.Duration {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sum
}
