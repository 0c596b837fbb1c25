package redisstore

import "context"

// Wait returns when nothing of s goes on in the background: no group of calls
// whose callers have gone, and no release that had to wait for one. That is at
// most ReadTimeout and MinLease / 3 after the last call has returned, or after
// its deadline if it was cancelled. It returns the error of ctx when that ends
// first. Programs need it only to close the client without cutting those off;
// calls that are made meanwhile are waited for as well.
func (s *Store) Wait(ctx context.Context) error { return s.background.Wait(ctx) }

// leave notes a claim that is left behind until it is back, and then sends the
// release that was kept for it.
func (s *Store) leave(o owner, behind <-chan struct{}) {
	s.left.leave(o)
	s.background.Go(func() {
		<-behind
		c := s.left.back(o)
		if c == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.options.MinLease/3)
		defer cancel()
		s.do(ctx, []*call{c}) // if it fails the key is free after one lease
	})
}
