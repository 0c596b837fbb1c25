package rmqtest

import (
	"container/heap"
	"sync"
	"time"
)

// agenda calls functions when their time has come, one after the other, those
// of one time in the order in which they were put down.
type agenda struct {
	changed chan struct{} // has room for one

	mu    sync.Mutex // guards everything below
	items items
	next  uint64 // the number of the next item
}

type item struct {
	at time.Time
	n  uint64
	do func()
}

func newAgenda() *agenda { return &agenda{changed: make(chan struct{}, 1)} }

// after has do called in d. It must not block for long.
func (a *agenda) after(d time.Duration, do func()) {
	a.mu.Lock()
	heap.Push(&a.items, item{at: time.Now().Add(d), n: a.next, do: do})
	a.next++
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default: // run looks anyway
	}
}

// run returns when done is closed.
func (a *agenda) run(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-a.changed:
		case <-timer.C:
		}
		for do := a.due(); do != nil; do = a.due() {
			do()
		}
		timer.Reset(a.pause())
	}
}

// due takes the first item if its time has come.
func (a *agenda) due() func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 || time.Until(a.items[0].at) > 0 {
		return nil
	}
	return heap.Pop(&a.items).(item).do
}

func (a *agenda) pause() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return time.Hour
	}
	return time.Until(a.items[0].at)
}

// items is a heap by time and number.
type items []item

func (x items) Len() int { return len(x) }
func (x items) Less(i, j int) bool {
	if x[i].at.Equal(x[j].at) {
		return x[i].n < x[j].n
	}
	return x[i].at.Before(x[j].at)
}
func (x items) Swap(i, j int) { x[i], x[j] = x[j], x[i] }
func (x *items) Push(v any)   { *x = append(*x, v.(item)) }
func (x *items) Pop() any {
	old := *x
	last := old[len(old)-1]
	old[len(old)-1] = item{} // so that it can be collected
	*x = old[:len(old)-1]
	return last
}
