package memstore

import (
	"container/heap"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// instant is a moment, as the time since the store's start.
type instant time.Duration

func (i instant) add(d time.Duration) instant { return i + instant(d) }

// state is where a record is in its life. A lapsed claim is one that is in
// flight after its lease, or released.
type state uint8

const (
	inFlight state = iota + 1
	released
	done
	parked
)

type record struct {
	key     store.Key // bounded
	number  uint64    // in the order in which records were added, from 1
	state   state
	token   store.Token // of the owner, or of whoever released, completed or parked
	attempt int         // started runs, the running one included
	lease   time.Duration
	horizon time.Duration
	fence   int64   // the last one drawn, 0 if none
	until   instant // in flight: when the lease ends
	expires instant // when the record counts as absent
	queue   *queue  // that holds it
	place   int     // in the queue
}

// owned tells whether t may release, renew or park: it claimed, and nobody has
// taken over, although the lease may have ended.
func (r *record) owned(t store.Token) bool {
	return r != nil && r.state == inFlight && r.token == t
}

// records finds a record by its key and by its expiry. What has ended is queued
// apart: there are many such records, and the expiry of a new one is nearly
// always the last, so that it stays where it is put.
type records struct {
	byKey       map[store.Key]*record
	open, ended queue
	added       uint64 // records since the store's start
}

// get returns the live record of a bounded key, or nil.
func (rs *records) get(k store.Key, now instant) *record {
	r := rs.byKey[k]
	if r == nil || r.expires <= now {
		return nil
	}
	return r
}

// add makes an empty record for a key without a live one. The caller gives it
// a state and then an expiry.
func (rs *records) add(k store.Key) *record {
	rs.added++
	if r := rs.byKey[k]; r != nil {
		*r = record{key: r.key, number: rs.added, queue: r.queue, place: r.place, expires: r.expires}
		return r
	}
	r := &record{key: clone(k), number: rs.added}
	rs.byKey[r.key] = r
	return r
}

// expire sets when r counts as absent. Its state is the new one already.
func (rs *records) expire(r *record, at instant) {
	to := &rs.open
	if r.state == done || r.state == parked {
		to = &rs.ended
	}
	if r.queue == to {
		r.expires = at
		heap.Fix(to, r.place)
		return
	}
	if r.queue != nil {
		heap.Remove(r.queue, r.place)
	}
	r.queue, r.expires = to, at
	heap.Push(to, r)
}

// sweep removes at most n expired records of each kind.
func (rs *records) sweep(now instant, n int) {
	for range n {
		rs.removeExpired(&rs.open, now)
		rs.removeExpired(&rs.ended, now)
	}
}

func (rs *records) removeExpired(q *queue, now instant) {
	if len(*q) > 0 && (*q)[0].expires <= now {
		rs.remove((*q)[0])
	}
}

// next returns the record that expires next, or nil when there is none.
func (rs *records) next() *record {
	switch {
	case len(rs.open) == 0 && len(rs.ended) == 0:
		return nil
	case len(rs.open) == 0, len(rs.ended) > 0 && rs.ended[0].expires < rs.open[0].expires:
		return rs.ended[0]
	}
	return rs.open[0]
}

func (rs *records) remove(r *record) {
	heap.Remove(r.queue, r.place)
	delete(rs.byKey, r.key)
}

// clone copies the parts into one string of their own. A part of a caller's key
// is often a piece of a message, which the record would keep alive as a whole.
func clone(k store.Key) store.Key {
	all := k.Application + k.Topic + k.Tag + k.ID
	cut := func(part string) (own string) {
		own, all = all[:len(part)], all[len(part):]
		return own
	}
	return store.Key{Application: cut(k.Application), Topic: cut(k.Topic), Tag: cut(k.Tag), ID: cut(k.ID)}
}

// queue is a heap of records, the next to expire first.
type queue []*record

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].expires < q[j].expires }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(r any) {
	r.(*record).place = len(*q)
	*q = append(*q, r.(*record))
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}
