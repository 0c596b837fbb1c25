package reconcile

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// remembered is how many of the latest keys have notes, at least.
const remembered = 50_000

// note is what a reconciler knows of an overdue key beyond its record, which
// forgets it with every claim.
type note struct {
	since   time.Time // overdue
	seen    time.Time // the latest time
	retries int       // that succeeded
	told    bool      // in a warning
}

// memory has the notes in two generations: when the young one is full it becomes
// the old one, and that is forgotten.
type memory struct {
	young, old map[store.Key]*note
	size       int // of a generation
}

func newMemory(size int) memory {
	return memory{young: make(map[store.Key]*note), size: size}
}

// of returns the note of an overdue record.
func (m *memory) of(rec *store.Record, lease time.Duration) *note {
	now := time.Now()
	n := m.young[rec.Key]
	if n == nil {
		n = m.old[rec.Key]
	}
	// A record that is left alone is forgotten by the store after so long, and
	// this is another one: the key had come to an end meanwhile.
	if n == nil || now.Sub(n.seen) > lease+rec.Horizon {
		n = &note{since: now.Add(rec.LeaseLeft)}
	}
	n.seen = now
	m.keep(rec.Key, n)
	return n
}

func (m *memory) keep(k store.Key, n *note) {
	if _, young := m.young[k]; !young && len(m.young) >= m.size {
		m.young, m.old = make(map[store.Key]*note), m.young
	}
	m.young[k] = n
}

// forget drops the note of a key that has come to an end.
func (m *memory) forget(k store.Key) {
	delete(m.young, k)
	delete(m.old, k)
}
