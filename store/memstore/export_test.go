package memstore

import (
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Pulses is how many nodes have a pulse that is remembered.
func (s *Store) Pulses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pulses)
}

// CheckQueues reports a record that is not where it belongs: in the queue of
// its state, at its place, behind what expires earlier, and nowhere else.
func (s *Store) CheckQueues() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := 0
	for _, q := range []*queue{&s.records.open, &s.records.ended} {
		for i, r := range *q {
			queued++
			switch ended := r.state == done || r.state == parked; {
			case s.records.byKey[r.key] != r:
				return fmt.Errorf("queued record %v is not the one of its key", r.key)
			case r.queue != q || r.place != i || ended != (q == &s.records.ended):
				return fmt.Errorf("record %v in state %d is at the wrong place", r.key, r.state)
			case i > 0 && q.Less(i, (i-1)/2):
				return fmt.Errorf("record %v expires before the one above it", r.key)
			}
		}
	}
	if queued != len(s.records.byKey) {
		return fmt.Errorf("%d records are queued, %d are known", queued, len(s.records.byKey))
	}
	return nil
}

// Holds reports whether a record of k is in memory, expired or not.
func (s *Store) Holds(k store.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records.byKey[k.Bounded()] != nil
}
