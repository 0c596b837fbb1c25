package listener

import "context"

// Watch looks every second whether the store has lost records, until ctx ends,
// and then returns nil; see [dedup.Guard.Watch]. Run it once, beside the
// consumer. It returns an error at once if the store cannot be watched.
func (l *DedupConcurrentListener) Watch(ctx context.Context) error {
	return l.guard.Watch(ctx, l.options.Application)
}

// Healthy returns nil, or the [dedup.Loss] that Watch saw within the last minute.
// It is meant for the readiness of the process. It says nothing about a store
// that does not answer.
func (l *DedupConcurrentListener) Healthy() error { return l.guard.Healthy() }
