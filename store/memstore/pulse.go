package memstore

import (
	"context"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// node is a user that counts its pulses.
type node struct {
	application string
	token       store.Token
}

// pulse is the latest of a node.
type pulse struct {
	number  int64
	expires instant
}

// Pulse answers for the only part there is. It loses nothing while the process
// lives, so it is of use to tests only.
func (s *Store) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, failed("pulse", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for n, latest := range s.pulses {
		if latest.expires <= now {
			delete(s.pulses, n)
		}
	}
	b := store.Beat{Run: s.run, Time: s.start.Add(time.Duration(now)), Doubt: -1}
	if p.Doubt {
		s.doubts[p.Application] = now
	}
	if since, ok := s.doubts[p.Application]; ok {
		b.Doubt = time.Duration(now - since)
	}
	n := node{p.Application, p.Node}
	b.Before = s.pulses[n].number
	s.pulses[n] = pulse{p.Number, now.add(store.PulseKeep)}
	return []store.Beat{b}, nil
}
