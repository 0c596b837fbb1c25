package rmqtest

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// faults are what a test has switched on.
type faults struct {
	mu       sync.Mutex // guards everything below
	dropping map[Request]int
	delaying map[Request]*countedDelay
	refusing map[Request]*countedRefusal
	copies   copying
}

type countedDelay struct {
	left  int
	delay time.Duration
}

type countedRefusal struct{ left, code int }

// take uses one of *left up and reports whether there was one. Less than 0 is
// never used up.
func take(left *int) bool {
	if *left > 0 {
		*left--
		return true
	}
	return *left < 0
}

// DropReplies makes the broker do the next n requests of a kind, n < 0 all, but
// not answer them: the client sees a timeout, and may repeat what has happened.
func (b *Broker) DropReplies(r Request, n int) {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	put(&b.faults.dropping, r, n)
}

// DelayReplies makes the broker answer the next n requests of a kind, n < 0 all,
// by d later. What they ask is done at once.
func (b *Broker) DelayReplies(r Request, n int, d time.Duration) {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	put(&b.faults.delaying, r, &countedDelay{left: n, delay: d})
}

// RefuseReplies makes the broker answer the next n requests of a kind, n < 0 all,
// with an answer's code such as 1, system error, and not do them.
func (b *Broker) RefuseReplies(r Request, n, code int) {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	put(&b.faults.refusing, r, &countedRefusal{left: n, code: code})
}

// RefuseSendBack makes the broker refuse the next n messages that consumers send
// back, n < 0 all. The client then sends them to the retry topic by itself.
func (b *Broker) RefuseSendBack(n int) { b.RefuseReplies(SendBack, n, systemError) }

// ClearFaults ends dropping, delaying, refusing and duplicating.
func (b *Broker) ClearFaults() {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	b.faults.dropping, b.faults.delaying, b.faults.refusing = nil, nil, nil
	b.faults.copies = copying{}
}

// CutConnections closes the connections of the clients with these instance
// names, or all connections when there is none. Members of groups are gone at
// once and come back with their next heartbeat, up to 30s later; clients connect
// again at their next request, but one that waits for messages waits 30s to the end.
func (b *Broker) CutConnections(instances ...string) {
	b.cut(func(c *conn) bool {
		_, instance, _ := strings.Cut(c.client, "@")
		return len(instances) == 0 || slices.Contains(instances, instance)
	})
}

func (f *faults) refuses(r Request) (code int, refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.refusing[r]; x != nil && take(&x.left) {
		return x.code, true
	}
	return 0, false
}

func (f *faults) replies(r Request) (drop bool, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := f.dropping[r]; take(&left) {
		f.dropping[r] = left
		return true, 0
	}
	if x := f.delaying[r]; x != nil && take(&x.left) {
		return false, x.delay
	}
	return false, 0
}

func put[V any](m *map[Request]V, r Request, v V) {
	if *m == nil {
		*m = map[Request]V{}
	}
	(*m)[r] = v
}
