package listener_test

import (
	"slices"
	"time"
)

// nap is a time for which a process was stopped.
type nap struct {
	from, to time.Time // to is zero until the process goes on
}

// wake ends the nap of the process of n, if it has one.
func (j *judge) wake(n note) {
	for _, nap := range j.naps[n.process][j.over(n.process):] {
		if nap.to = n.at; j.long(nap) {
			j.pauses++
		}
	}
}

// over is how many naps of process are over.
func (j *judge) over(process int) (count int) {
	for _, nap := range j.naps[process] {
		if !nap.to.IsZero() {
			count++
		}
	}
	return count
}

// long reports whether n has lasted for longer than a lease, or still lasts: no
// nap of chaos is shorter.
func (j *judge) long(n *nap) bool { return n.to.IsZero() || n.to.Sub(n.from) > j.lease }

// excuses reports whether n is a nap whose process has not had the time of a
// lease since to learn of it.
func (j *judge) excuses(n *nap, now time.Time) bool {
	return j.long(n) && (n.to.IsZero() || now.Sub(n.to) < j.lease)
}

// wokenBefore reports whether the process of n was woken a moment before: its
// claim may then be older than the nap.
func (j *judge) wokenBefore(n note) bool {
	done := j.over(n.process)
	return done > 0 && j.excuses(j.naps[n.process][done-1], n.at)
}

// sleptIn reports whether the lease of r can have ended, unnoticed, while its
// process slept.
func (j *judge) sleptIn(r *open, now time.Time) bool {
	return now.Sub(r.claimed) > j.lease &&
		slices.ContainsFunc(j.naps[r.process][r.slept:], func(n *nap) bool { return j.excuses(n, now) })
}
