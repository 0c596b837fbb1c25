package sqlrecord

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Claim asks for the right to run. The error is [store.ErrNotOwner] for a late
// copy of a claim whose token was released, else nil.
func (r *Row) Claim(q store.ClaimRequest, now int64) (changed bool, v store.Verdict, err error) {
	switch {
	case r.Absent(now):
		r.begin()
		return r.grant(q, 1, now)
	case !r.known():
		return false, store.Verdict{State: store.Corrupt}, nil
	case r.Status == Consumed, r.Status == Parked:
		v.State = store.Done
		if r.Status == Parked {
			v.State = store.Parked
		}
		v.Rearmed = r.rearm(now)
		return v.Rearmed, v, nil
	case r.Owner == q.Token && r.Status == Released:
		return false, v, store.ErrNotOwner
	case r.Owner == q.Token:
		return r.grant(q, r.Attempts, now)
	}
	return r.claimFromAnother(q, now)
}

// claimFromAnother judges a claim on what another owner is running, or was.
func (r *Row) claimFromAnother(q store.ClaimRequest, now int64) (bool, store.Verdict, error) {
	rearmed := r.Status == Consuming && r.rearm(now)
	if ends := r.leaseEnds(); r.Status == Consuming && ends > now {
		left := time.Duration(ends-now) * time.Millisecond
		return rearmed, store.Verdict{State: store.Busy, Left: left, Rearmed: rearmed}, nil
	}
	if q.MaxAttempts > 0 && r.Attempts >= int64(q.MaxAttempts) {
		r.Keep = q.ParkKeep.Milliseconds()
		r.become(Parked, store.Token{}, now) // nobody owned it
		return true, store.Verdict{State: store.Parked}, nil
	}
	return r.grant(q, r.Attempts+1, now)
}

// leaseEnds is when the lease of a claim ends, or has ended. A release ends it.
func (r *Row) leaseEnds() int64 { return r.Expires - r.Horizon }

func (r *Row) grant(q store.ClaimRequest, attempt, now int64) (bool, store.Verdict, error) {
	r.Attempts, r.Lease, r.Horizon = attempt, q.Lease.Milliseconds(), q.Horizon.Milliseconds()
	r.become(Consuming, q.Token, now)
	return true, store.Verdict{State: store.Claimed, Attempt: int(attempt)}, nil
}
