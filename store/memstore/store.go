// Package memstore keeps records in the memory of one process. Use this when
// one process consumes alone, or in tests and quickstarts: it needs no server,
// answers in well under a microsecond and forgets everything at exit, which
// can cause another run of a message but never a lost one.
//
// Start with [New]. A [Store] has every ability of package store, starts no
// goroutine and needs no closing. It measures time by the process's monotonic
// clock, so steps of the wall clock do not move an expiry.
package memstore

import (
	"fmt"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// DefaultMaxRecords is the bound that zero [Options] mean.
const DefaultMaxRecords = 1_000_000

// Options bound a [Store]. The zero value works.
type Options struct {
	// MaxRecords is how many records are kept at once; 0 means
	// DefaultMaxRecords. A record costs about 400 bytes and lives until its
	// expiry; expired ones are removed in small steps by the calls that add
	// one. A full store evicts nothing: it fails claims on new keys with a
	// *store.Error of class NotApplied until a record expires. Completions are
	// never refused.
	MaxRecords int
}

// Store is a store in memory. It is safe for concurrent use.
type Store struct {
	max   int
	start time.Time // the origin of every instant
	run   string    // names this store among others

	mu      sync.Mutex // guards records; sixteen shards were no faster on two processors
	records records
	pulses  map[node]pulse     // guarded by mu
	doubts  map[string]instant // by application, guarded by mu
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Renewer   = (*Store)(nil)
	_ store.Parker    = (*Store)(nil)
	_ store.Fencer    = (*Store)(nil)
	_ store.Batcher   = (*Store)(nil)
	_ store.Pulser    = (*Store)(nil)
	_ store.Getter    = (*Store)(nil)
	_ store.Forgetter = (*Store)(nil)
	_ store.Scanner   = (*Store)(nil)
	_ store.Sweeper   = (*Store)(nil)
	_ store.Instant   = (*Store)(nil)
)

// New returns an empty store, or an error that wraps [store.ErrInvalid] and
// names the option that is out of bounds.
func New(o Options) (*Store, error) {
	if o.MaxRecords < 0 {
		return nil, fmt.Errorf("memstore: %w: MaxRecords is %d, want 0 (the default) or more",
			store.ErrInvalid, o.MaxRecords)
	}
	if o.MaxRecords == 0 {
		o.MaxRecords = DefaultMaxRecords
	}
	return &Store{
		max: o.MaxRecords, start: time.Now(), run: store.NewToken().String(),
		records: records{byKey: make(map[store.Key]*record)}, pulses: make(map[node]pulse), doubts: make(map[string]instant),
	}, nil
}

// Instant says that no method ever waits.
func (s *Store) Instant() {}

// Len is the number of records in memory, expired ones that are not removed yet
// included.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records.byKey)
}

// now is the time since start by the monotonic clock.
func (s *Store) now() instant { return instant(time.Since(s.start)) }
