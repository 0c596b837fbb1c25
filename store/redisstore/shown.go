package redisstore

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// shown is what the pages of one scan have shown: SCAN may name what it has
// named before, when the server's table has shrunk or another server has taken
// over. It is in two generations: when the young one is full it becomes the old
// one, and that is forgotten.
type shown struct {
	young, old map[digest]bool
	size       int // of a generation
}

type digest [16]byte

func digestOf(name string) digest {
	sum := sha256.Sum256([]byte(name))
	return digest(sum[:len(digest{})])
}

func (m *shown) has(name string) bool {
	if len(m.young) == 0 {
		return false
	}
	d := digestOf(name)
	return m.young[d] || m.old[d]
}

func (m *shown) add(name string) {
	if m.young == nil || len(m.young) >= m.size {
		m.young, m.old = map[digest]bool{}, m.young
	}
	m.young[digestOf(name)] = true
}

// scans has what the latest scans have shown, by the place where each stands.
// Nobody says that he has given a scan up, so the others are forgotten.
type scans struct {
	mu   sync.Mutex // guards what follows
	open []openScan // in the order of their latest pages
}

type openScan struct {
	place string
	shown *shown
}

const (
	mostScans = 8
	mostShown = 1 << 17 // in a generation
)

// take returns what has been shown at a place, nothing if that is not known, and
// forgets the place: should somebody else go on from there too, what one shows
// must not be kept from the other.
func (s *scans) take(place string) *shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, scan := range s.open {
		if scan.place == place {
			s.open = slices.Delete(s.open, i, i+1)
			return scan.shown
		}
	}
	return &shown{size: mostShown}
}

func (s *scans) keep(place string, shown *shown) {
	if len(shown.young) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, openScan{place, shown})
	if len(s.open) > mostScans {
		s.open = slices.Delete(s.open, 0, 1)
	}
}
