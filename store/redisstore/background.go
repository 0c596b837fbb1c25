package redisstore

import (
	"context"
	"sync"
)

// Wait returns when nothing of s goes on in the background: no group of calls
// whose callers have gone, and no release that had to wait for one. That is at
// most ReadTimeout and MinLease / 3 after the last call has returned, or after
// its deadline if it was cancelled. It returns the error of ctx when that ends
// first. Programs need it only to close the client without cutting those off;
// calls that are made meanwhile are waited for as well.
func (s *Store) Wait(ctx context.Context) error { return s.background.wait(ctx) }

// settle ends the wait for claims that are back, and sends the releases that
// were kept for them.
func (s *Store) settle(back []owner) {
	for _, o := range back {
		c := s.left.back(o)
		if c == nil {
			continue
		}
		s.background.add()
		go func() {
			defer s.background.done()
			ctx, cancel := context.WithTimeout(context.Background(), s.options.MinLease/3)
			defer cancel()
			s.do(ctx, []*call{c}) // if it fails the key is free after one lease
		}()
	}
}

// activity counts what goes on in the background.
type activity struct {
	mu   sync.Mutex // guards what follows
	n    int
	none chan struct{} // closed when n becomes 0; nil while nobody waits
}

func (a *activity) add() {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
}

func (a *activity) done() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n--; a.n == 0 && a.none != nil {
		close(a.none)
		a.none = nil
	}
}

func (a *activity) wait(ctx context.Context) error {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return nil
	}
	if a.none == nil {
		a.none = make(chan struct{})
	}
	none := a.none
	a.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
