package storetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// original is the Java original as a store: a value without an owner, a claim
// in two steps, a mark and a delete for whoever asks, and every error a success.
type original struct {
	mu     sync.Mutex // guards values
	values map[store.Key]value
}

type value struct {
	word    string // CONSUMING or CONSUMED
	expires time.Time
}

func newOriginal(testing.TB) store.Store { return &original{values: make(map[store.Key]value)} }

func (o *original) get(k store.Key) (value, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.values[k]
	return v, ok && time.Now().Before(v.expires)
}

func (o *original) setNX(k store.Key, v value) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if old, ok := o.values[k]; ok && time.Now().Before(old.expires) {
		return false
	}
	o.values[k] = v
	return true
}

func (o *original) Claim(_ context.Context, r store.ClaimRequest) (store.Verdict, error) {
	if o.setNX(r.Key, value{"CONSUMING", time.Now().Add(r.Lease)}) {
		return store.Verdict{State: store.Claimed, Attempt: 1}, nil
	}
	time.Sleep(gap) // the second step is another trip to the server
	switch v, _ := o.get(r.Key); v.word {
	case "CONSUMING":
		return store.Verdict{State: store.Busy, Left: time.Until(v.expires)}, nil
	case "CONSUMED":
		return store.Verdict{State: store.Done}, nil
	}
	return store.Verdict{State: store.Claimed, Attempt: 1}, nil
}

func (o *original) Complete(_ context.Context, k store.Key, _ store.Token,
	keep time.Duration) (store.Completion, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[k] = value{"CONSUMED", time.Now().Add(keep)}
	return store.Completed, nil
}

func (o *original) Release(_ context.Context, k store.Key, _ store.Token, _ bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.values, k)
	return nil
}

var originalCaught = []string{
	"a take-over counts the attempt",
	"claiming again with the same token answers the same attempt",
	"a late copy of a released claim is refused",
	"a shorter second complete does not shorten done",
	"completing what somebody else completed answers already done",
	"completing after a take-over answers late and makes the key done",
	"completing after a release answers late and makes the key done",
	"completing a parked key answers late and makes the key done",
	"completing without a record answers recreated and makes the key done",
	"a stale owner's release does not undo done",
	"a released key is granted at once as the next attempt",
	"a repeated release is accepted and subtracts nothing",
	"a release by a token that never claimed changes nothing",
	"a release by an earlier owner changes nothing",
	"a release without a record is refused and leaves the key free",
	"a claim beyond MaxAttempts parks a released key",
	"a claim beyond MaxAttempts parks a lapsed key",
	"repeating the last permitted claim does not park it",
	"a key that a claim parked is free again when its keep ends",
	"a lapsed claim is judged by its own lease and horizon",
	"two applications never see each other's records",
	"a call whose context has ended is an error and no verdict",
	"an invalid claim is refused and leaves no record",
	"an invalid complete, release, park, renewal or fence is refused and touches no record",
	"concurrent calls look as if they had happened one after the other",
	"concurrent calls with lost replies and repeats look as if they had happened one after the other",
}
