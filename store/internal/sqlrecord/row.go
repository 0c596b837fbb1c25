package sqlrecord

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// Row is a record as a table holds it: all that its steps read and write beside
// the key. The zero Row stands for a record that is not there. Durations and
// times are in milliseconds, times since 1970 by the store's clock, and no
// duration is below 0 or above [store.MaxDuration].
//
// A step is a method that changes the row in place and tells whether it did,
// which says whether to write it. The caller makes reading, deciding and writing
// one atomic step and tells the time. The rules are those of the document of
// package store; stores that decide in SQL are tested against these methods.
type Row struct {
	Status   string
	Owner    store.Token // who claimed, released, completed or parked; zero: parked by nobody
	Attempts int64       // started runs, the running one included
	Lease    int64       // of the claim
	Horizon  int64       // of the claim
	Keep     int64       // of what is done or parked
	Fence    int64       // the number drawn last, 0 if none; it outlives everything but the row
	Expires  int64       // when the row counts as absent, whatever it says
}

// Absent reports whether the row counts as no record.
func (r *Row) Absent(now int64) bool { return r.Expires <= now }

// known reports whether the status is a word of ours.
func (r *Row) known() bool {
	switch r.Status {
	case Consuming, Released, Consumed, Parked:
		return true
	}
	return false
}

// Valid reports whether the status is a word of ours, and every duration that
// depends on it there. A store that reads another row gives it no status: with a
// life of nothing, done would end when somebody looks.
func (r *Row) Valid() bool {
	switch r.Status {
	case Consuming:
		return r.Lease > 0 && r.Horizon > 0
	case Released:
		return r.Horizon > 0
	case Consumed, Parked:
		return r.Keep > 0
	}
	return false
}

// owned tells whether t may release, renew or park: it claimed, and nobody has
// taken over, although the lease may have ended.
func (r *Row) owned(t store.Token, now int64) bool {
	return !r.Absent(now) && r.Status == Consuming && r.Owner == t
}

// life is how long the row lives when it has just been written.
func (r *Row) life() int64 {
	switch r.Status {
	case Consuming:
		return r.Lease + r.Horizon
	case Released:
		return r.Horizon
	}
	return r.Keep
}

// rearm gives the row an expiry that it can have if the one it has is too late:
// somebody removed it, or the clock was set back.
func (r *Row) rearm(now int64) bool {
	latest := now + r.life()
	if r.Expires <= latest {
		return false
	}
	r.Expires = latest
	return true
}

// become moves the row into a state and starts its life anew.
func (r *Row) become(status string, t store.Token, now int64) {
	r.Status, r.Owner = status, t
	r.Expires = now + r.life()
}

// begin makes a first record of an absent one, or of one that nobody
// understands. The next number drawn is above the last all the same.
func (r *Row) begin() { *r = Row{Fence: max(r.Fence, 0)} }
