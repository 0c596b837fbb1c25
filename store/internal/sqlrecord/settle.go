package sqlrecord

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Complete records that the effect happened, whatever the row says. The longer
// keep stays, and so does who completed first.
func (r *Row) Complete(t store.Token, keep time.Duration, now int64) (found store.Completion) {
	ms := keep.Milliseconds()
	switch {
	case r.Absent(now):
		r.begin()
		found = store.Recreated
	case !r.known():
		r.begin()
		found = store.Repaired
	case r.Status == Consumed:
		r.rearm(now)
		r.Keep, r.Expires = max(r.Keep, ms), max(r.Expires, now+ms)
		if r.Owner == t {
			return store.Completed
		}
		return store.AlreadyDone
	case r.owned(t, now):
		found = store.Completed
	default:
		found = store.Late
	}
	r.Keep = ms
	r.become(Consumed, t, now)
	return found
}

// Release gives the claim back, and the attempt with it if the callback was not
// started. The error is [store.ErrNotOwner] or nil, as for every step that acts
// for the owner.
func (r *Row) Release(t store.Token, ran bool, now int64) (changed bool, err error) {
	if !r.owned(t, now) {
		return r.repeated(t, Released, now)
	}
	if !ran {
		r.Attempts = max(r.Attempts-1, 0)
	}
	r.become(Released, t, now)
	return true, nil
}

// Park takes the key out of circulation.
func (r *Row) Park(t store.Token, keep time.Duration, now int64) (changed bool, err error) {
	if !r.owned(t, now) {
		return r.repeated(t, Parked, now)
	}
	r.Keep = keep.Milliseconds()
	r.become(Parked, t, now)
	return true, nil
}

// repeated accepts a step that t itself has made before.
func (r *Row) repeated(t store.Token, status string, now int64) (changed bool, err error) {
	if r.Absent(now) || r.Status != status || r.Owner != t {
		return false, store.ErrNotOwner
	}
	return r.rearm(now), nil
}

// Renew starts the stored lease anew.
func (r *Row) Renew(t store.Token, now int64) (changed bool, err error) {
	if !r.owned(t, now) {
		return false, store.ErrNotOwner
	}
	r.become(Consuming, t, now)
	return true, nil
}

// Draw draws the next number for the owner. It is above every earlier one of the
// row and not below the time.
func (r *Row) Draw(t store.Token, now int64) (fence int64, err error) {
	if !r.owned(t, now) {
		return 0, store.ErrNotOwner
	}
	r.rearm(now)
	r.Fence = max(r.Fence+1, now)
	return r.Fence, nil
}
