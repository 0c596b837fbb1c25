package sqlrecord

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// InFlight reports whether the lease of a claim is running.
func (r *Row) InFlight(now int64) bool {
	return !r.Absent(now) && r.Status == Consuming && r.leaseEnds() > now
}

// Record is the row for people and tools to read; the caller adds the key. An
// expiry that was lost shows as the one that the next step would give.
func (r *Row) Record(now int64) store.Record {
	seen := *r
	if !seen.known() {
		return store.Record{Status: store.StatusCorrupt}
	}
	seen.rearm(now)
	v := store.Record{
		Status: seen.status(now), Token: seen.Owner, Attempt: int(seen.Attempts), Fence: seen.Fence,
		ExpiresIn: time.Duration(seen.Expires-now) * time.Millisecond,
	}
	if seen.Status == Consuming || seen.Status == Released {
		v.Lease = time.Duration(seen.Lease) * time.Millisecond
		v.Horizon = time.Duration(seen.Horizon) * time.Millisecond
		v.LeaseLeft = time.Duration(seen.leaseEnds()-now) * time.Millisecond
	}
	return v
}

func (r *Row) status(now int64) store.Status {
	switch {
	case r.Status == Consumed:
		return store.StatusConsumed
	case r.Status == Parked:
		return store.StatusParked
	case r.InFlight(now):
		return store.StatusConsuming
	}
	return store.StatusLapsed
}
