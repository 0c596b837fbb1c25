package line

import (
	"context"
	"sync"
)

// Activity counts what a store does in the background. The zero value is at rest.
type Activity struct {
	mu   sync.Mutex // guards what follows
	n    int
	rest chan struct{} // closed when n becomes 0; nil while nobody waits
}

// Go calls f in a goroutine of its own.
func (a *Activity) Go(f func()) {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
	go func() {
		defer a.end()
		f()
	}()
}

func (a *Activity) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n--; a.n == 0 && a.rest != nil {
		close(a.rest)
		a.rest = nil
	}
}

// Wait returns when nothing goes on, what began meanwhile included, or with the
// error of ctx when that ends first.
func (a *Activity) Wait(ctx context.Context) error {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return nil
	}
	if a.rest == nil {
		a.rest = make(chan struct{})
	}
	rest := a.rest
	a.mu.Unlock()
	select {
	case <-rest:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
