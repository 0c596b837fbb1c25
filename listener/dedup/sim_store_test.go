package dedup

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simStore keeps the records by the table of the contract, with a clock that
// can jump. What it does to a record it tells the judge.
type simStore struct {
	s    *sim
	skew time.Duration // of its clock
	down bool
}

// simRecord is the record of a key. Its expiry is all it knows of time.
type simRecord struct {
	state                byte // 0 absent, P in flight, R released, D done, X parked
	token                int
	attempt              int
	lease, horizon, keep time.Duration
	expires              time.Duration
}

// life is how long the record lives when it has just been written.
func (r *simRecord) life() time.Duration {
	switch r.state {
	case 'P':
		return r.lease + r.horizon
	case 'R':
		return r.horizon
	}
	return r.keep
}

func (st *simStore) now() time.Duration { return st.s.now + st.skew }

// leased is how long the lease of a record still runs.
func (st *simStore) leased(r *simRecord) time.Duration {
	if r.state != 'P' {
		return 0
	}
	return max(0, r.expires-r.horizon-st.now())
}

// meet returns the record as a call finds it: absent after its time, and with a
// new expiry when it has lost its own, here because the clock was set back.
func (st *simStore) meet(k *simKey) (r *simRecord, rearmed bool) {
	r = &k.record
	if r.state != 0 && r.expires <= st.now() {
		*r = simRecord{}
		k.forgotten()
	}
	if r.state != 0 && r.expires > st.now()+r.life() {
		r.expires = st.now() + r.life()
		k.doneUntil = min(k.doneUntil, r.expires)
		return r, true
	}
	return r, false
}

func (st *simStore) write(k *simKey, r simRecord) {
	k.earlier = k.record
	r.expires = st.now() + r.life()
	k.record = r
}

type simClaim struct {
	token          int
	lease, horizon time.Duration
	most           int
}

func (st *simStore) claim(k *simKey, c simClaim) (store.Verdict, error) {
	r, rearmed := st.meet(k)
	lapsed := r.state == 'R' || r.state == 'P' && st.leased(r) == 0
	if st.s.bug.ownHorizon && r.state == 'P' {
		lapsed = r.expires-st.now() <= c.horizon
	}
	switch {
	case r.state == 'D':
		return store.Verdict{State: store.Done, Rearmed: rearmed}, nil
	case r.state == 'X':
		return store.Verdict{State: store.Parked, Rearmed: rearmed}, nil
	case r.state == 'R' && r.token == c.token && !st.s.bug.releasedCopyRuns:
		return store.Verdict{}, store.ErrNotOwner
	case r.state == 'P' && r.token == c.token:
		return st.grant(k, c, r.attempt), nil
	case r.state != 0 && !lapsed:
		return store.Verdict{State: store.Busy, Left: st.leased(r), Rearmed: rearmed}, nil
	case c.most > 0 && r.attempt >= c.most:
		st.s.judge.parks(k, c.most)
		st.write(k, simRecord{state: 'X', attempt: r.attempt, keep: simKeep})
		return store.Verdict{State: store.Parked}, nil
	}
	return st.grant(k, c, r.attempt+1), nil
}

func (st *simStore) grant(k *simKey, c simClaim, attempt int) store.Verdict {
	st.s.judge.grants(k, c.token, attempt, c.lease)
	r := simRecord{state: 'P', token: c.token, attempt: attempt, lease: c.lease, horizon: c.horizon}
	if st.s.bug.takeOverWithoutToken && attempt > 1 {
		r.token = k.record.token
	}
	if st.s.bug.markBeforeRun {
		r.state, r.keep, k.holder = 'D', simKeep, 0
	}
	st.write(k, r)
	return store.Verdict{State: store.Claimed, Attempt: attempt}
}

// own lets act change the record if token owns it, and accepts a repeat.
func (st *simStore) own(k *simKey, token int, to byte, act func(simRecord)) error {
	r, _ := st.meet(k)
	unfenced := st.s.bug.unfencedRelease && to == 'R' && r.state == 'P'
	switch {
	case r.state == 'P' && r.token == token, unfenced:
		before, leased := *r, st.leased(r)
		act(*r)
		st.s.judge.owned(k, token, before, leased)
		return nil
	case r.state != 0 && r.state == to && r.token == token:
		if to == 'R' && st.s.bug.releaseSubtractsAgain {
			r.attempt--
		}
		return nil
	}
	st.s.judge.refuses(k, token)
	return store.ErrNotOwner
}

func (st *simStore) renew(k *simKey, token int) error {
	return st.own(k, token, 0, func(r simRecord) {
		st.write(k, r)
		k.heldUntil = st.now() + r.lease
	})
}

func (st *simStore) release(k *simKey, token int, ran bool) error {
	return st.own(k, token, 'R', func(r simRecord) {
		if !ran {
			r.attempt--
			k.attempts--
		}
		r.state, r.token = 'R', token
		k.given, k.holder = token, 0
		st.write(k, r)
	})
}

func (st *simStore) park(k *simKey, token int) error {
	return st.own(k, token, 'X', func(r simRecord) {
		st.write(k, simRecord{state: 'X', token: token, attempt: r.attempt, keep: simKeep})
		k.holder = 0
	})
}

func (st *simStore) complete(k *simKey, token int) store.Completion {
	r, _ := st.meet(k)
	found, keep := store.Late, simKeep
	switch {
	case r.state == 0:
		found = store.Recreated
	case r.state == 'D':
		keep = max(keep, r.expires-st.now())
		if found = store.AlreadyDone; r.token == token {
			found = store.Completed
		}
	case r.state == 'P' && r.token == token:
		found = store.Completed
	case st.s.bug.fencedComplete:
		k.doneUntil = st.now() + keep
		return store.Late
	}
	st.write(k, simRecord{state: 'D', token: token, keep: keep})
	k.completed(k.record.expires)
	return found
}
