package storetest_test

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// record is the record of one key. The zero record is an absent one.
type record struct {
	key            store.Key // bounded
	state          string    // "", inFlight, released, done, parked or something foreign
	token          store.Token
	attempt        int
	lease, horizon time.Duration
	keep           time.Duration
	fence          int64
	until          time.Time // of a claim: when the lease ends, or ended
	expires        time.Time // zero: never, which only the Persist hook brings about
}

const (
	inFlight  = "in flight"
	givenBack = "released"
	done      = "done"
	parked    = "parked"
	garbage   = "garbage"
	list      = "list"
)

func (rec *record) owned(t store.Token) bool { return rec.state == inFlight && rec.token == t }

func (rec *record) lapsed() bool { return rec.state == inFlight && !time.Now().Before(rec.until) }

func (rec *record) expired() bool { return !rec.expires.IsZero() && !time.Now().Before(rec.expires) }

// arm starts the expiry of the record anew.
func (rec *record) arm() {
	term := rec.keep
	switch rec.state {
	case inFlight:
		rec.until = time.Now().Add(rec.lease)
		term = rec.lease + rec.horizon
	case givenBack:
		rec.until = time.Now()
		term = rec.horizon
	}
	rec.expires = time.Now().Add(term)
}

func claim(rec *record, r store.ClaimRequest) (store.Verdict, error) {
	rearmed := rec.state != "" && rec.expires.IsZero()
	if rearmed {
		rec.arm()
	}
	switch {
	case rec.state == "":
		return grant(rec, r, 1), nil
	case rec.state == garbage, rec.state == list:
		return store.Verdict{State: store.Corrupt}, nil
	case rec.state == done:
		return store.Verdict{State: store.Done, Rearmed: rearmed}, nil
	case rec.state == parked:
		return store.Verdict{State: store.Parked, Rearmed: rearmed}, nil
	case rec.state == givenBack && rec.token == r.Token:
		return store.Verdict{}, store.ErrNotOwner
	case rec.owned(r.Token):
		return grant(rec, r, rec.attempt), nil
	case rec.state == inFlight && !rec.lapsed():
		return store.Verdict{State: store.Busy, Left: time.Until(rec.until), Rearmed: rearmed}, nil
	case r.MaxAttempts > 0 && rec.attempt >= r.MaxAttempts:
		rec.token = store.Token{} // nobody owned it
		rec.become(parked, r.ParkKeep)
		return store.Verdict{State: store.Parked}, nil
	}
	return grant(rec, r, rec.attempt+1), nil
}

func grant(rec *record, r store.ClaimRequest, attempt int) store.Verdict {
	rec.state, rec.token, rec.attempt = inFlight, r.Token, attempt
	rec.lease, rec.horizon = r.Lease, r.Horizon
	rec.arm()
	return store.Verdict{State: store.Claimed, Attempt: attempt}
}

func (rec *record) become(state string, keep time.Duration) {
	rec.state, rec.keep = state, keep
	rec.arm()
}

func complete(rec *record, t store.Token, keep time.Duration) (store.Completion, error) {
	found := store.Late
	switch {
	case rec.state == list:
		return 0, errForeign
	case rec.state == "":
		found = store.Recreated
	case rec.state == garbage:
		found = store.Repaired
	case rec.owned(t), rec.state == done && rec.token == t:
		found = store.Completed
	case rec.state == done:
		found = store.AlreadyDone
	}
	if rec.state == done {
		keep = max(keep, rec.keep)
	}
	rec.token = t
	rec.become(done, keep)
	return found, nil
}

func release(rec *record, t store.Token, ran bool) error {
	switch {
	case rec.state == givenBack && rec.token == t:
		return nil
	case !rec.owned(t):
		return store.ErrNotOwner
	case !ran:
		rec.attempt--
	}
	rec.become(givenBack, 0)
	return nil
}

func park(rec *record, t store.Token, keep time.Duration) error {
	switch {
	case rec.state == parked && rec.token == t:
		return nil
	case !rec.owned(t):
		return store.ErrNotOwner
	}
	rec.become(parked, keep)
	return nil
}

func renew(rec *record, t store.Token) error {
	if !rec.owned(t) {
		return store.ErrNotOwner
	}
	rec.arm()
	return nil
}

// each is how a batch is done: one after the other.
func each[T, A any](batch []T, do func(T) A) []A {
	answers := make([]A, len(batch))
	for i, one := range batch {
		answers[i] = do(one)
	}
	return answers
}

func fence(rec *record, t store.Token) (int64, error) {
	if !rec.owned(t) {
		return 0, store.ErrNotOwner
	}
	if rec.expires.IsZero() {
		rec.arm()
	}
	rec.fence = max(rec.fence+1, time.Now().UnixMilli())
	return rec.fence, nil
}
