package memstore_test

import (
	"context"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		FakeTime: true,
		New:      func(t testing.TB) store.Store { return newStore(t, memstore.Options{}) },
		Hooks:    hooks,
	})
}

func TestContractInRealTime(t *testing.T) {
	t.Parallel()
	s := newStore(t, memstore.Options{})
	storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: hooks})
}

// hooks know that every record has an expiry.
var hooks = storetest.Hooks{HasExpiry: func(_ context.Context, s store.Store, k store.Key) (bool, error) {
	return s.(*memstore.Store).Holds(k), nil
}}

func newStore(t testing.TB, o memstore.Options) *memstore.Store {
	t.Helper()
	s, err := memstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(id string) store.ClaimRequest {
	return store.ClaimRequest{
		Key:     store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: id},
		Token:   store.NewToken(),
		Lease:   leaseTime,
		Horizon: horizonTime,
	}
}
