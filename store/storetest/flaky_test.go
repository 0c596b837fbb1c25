package storetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func request() store.ClaimRequest {
	k := store.Key{Application: "billing", Topic: "orders", ID: "1"}
	return store.ClaimRequest{Key: k, Token: store.NewToken(), Lease: time.Hour, Horizon: time.Hour}
}

func wantMention(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("got %q, want it to mention %q", text, w)
		}
	}
}

func TestACutCallNeverReachesTheStore(t *testing.T) {
	faults := &storetest.Faults{}
	s := storetest.Flaky(newReference(), faults)
	faults.Next(storetest.Claim, storetest.CutBefore)
	first, second := request(), request()
	v, err := s.Claim(t.Context(), first)
	if v.State != 0 || !errors.Is(err, storetest.ErrCutBefore) || store.ClassOf(err) != store.NotApplied {
		t.Errorf("got %v, %v; want no state and a cut of class not applied", v, err)
	}
	if v, err := s.Claim(t.Context(), second); v.State != store.Claimed {
		t.Errorf("the next claim got %v, %v; want claimed", v, err)
	}
	if got := faults.Calls(storetest.Claim); got != 2 {
		t.Errorf("got %d claims, want 2", got)
	}
}

func TestALostReplyIsApplied(t *testing.T) {
	faults := &storetest.Faults{}
	s := storetest.Flaky(newReference(), faults)
	r := request()
	lost := func(op storetest.Op, call func() error) {
		t.Helper()
		faults.Next(op, storetest.CutAfter)
		if err := call(); !errors.Is(err, storetest.ErrCutAfter) || store.ClassOf(err) != store.Unknown {
			t.Errorf("%s: got %v, want a lost reply of class unknown", op, err)
		}
	}
	lost(storetest.Claim, func() error { _, err := s.Claim(t.Context(), r); return err })
	if v, _ := s.Claim(t.Context(), request()); v.State != store.Busy {
		t.Errorf("after a lost claim: got %v, want busy", v.State)
	}
	lost(storetest.Renew, func() error {
		return s.(store.Renewer).Renew(t.Context(), []store.Claim{{Key: r.Key, Token: r.Token}})[0]
	})
	lost(storetest.Fence, func() error { _, err := s.(store.Fencer).Fence(t.Context(), r.Key, r.Token); return err })
	lost(storetest.Release, func() error { return s.Release(t.Context(), r.Key, r.Token, false) })
	again := request()
	if v, _ := s.Claim(t.Context(), again); v.State != store.Claimed {
		t.Errorf("after a lost release: got %v, want claimed", v.State)
	}
	lost(storetest.Park, func() error { return s.(store.Parker).Park(t.Context(), r.Key, again.Token, time.Hour) })
	if v, _ := s.Claim(t.Context(), request()); v.State != store.Parked {
		t.Errorf("after a lost park: got %v, want parked", v.State)
	}
	lost(storetest.Complete, func() error { _, err := s.Complete(t.Context(), r.Key, r.Token, time.Hour); return err })
	if v, _ := s.Claim(t.Context(), request()); v.State != store.Done {
		t.Errorf("after a lost complete: got %v, want done", v.State)
	}
}

func TestAFaultHitsABatchAsAWhole(t *testing.T) {
	faults := &storetest.Faults{}
	s := storetest.Flaky(newReference(), faults)
	a, b := request(), request()
	b.Key.ID = "2"
	faults.Next(storetest.ClaimBatch, storetest.CutBefore, storetest.CutAfter)
	faults.Next(storetest.SettleBatch, storetest.CutAfter)
	for _, want := range []error{storetest.ErrCutBefore, storetest.ErrCutAfter} {
		for _, got := range s.(store.Batcher).ClaimBatch(t.Context(), []store.ClaimRequest{a, b}) {
			if !errors.Is(got.Err, want) || got.Verdict.State != 0 {
				t.Errorf("claim: got %v, %v, want no state and %v", got.Verdict.State, got.Err, want)
			}
		}
	}
	settlements := []store.Settlement{
		{Claim: store.Claim{Key: a.Key, Token: a.Token}, Keep: time.Hour},
		{Claim: store.Claim{Key: b.Key, Token: b.Token}},
	}
	for _, got := range s.(store.Batcher).SettleBatch(t.Context(), settlements) {
		if !errors.Is(got.Err, storetest.ErrCutAfter) {
			t.Errorf("settlement: got %v, want a lost reply", got.Err)
		}
	}
	for k, want := range map[store.Key]store.State{a.Key: store.Done, b.Key: store.Claimed} {
		r := request()
		r.Key = k
		if v, err := s.Claim(t.Context(), r); v.State != want {
			t.Errorf("after lost settlements: got %v, %v, want %v", v.State, err, want)
		}
	}
}

func TestASlowCallArrivesLateOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := &storetest.Faults{Delay: time.Second}
		s := storetest.Flaky(newReference(), faults)
		faults.Next(storetest.Claim, storetest.Slow, storetest.Slow)

		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.Claim(ctx, request())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Millisecond {
			t.Errorf("with a short deadline: got %v after %v, want its end after 1ms", err, time.Since(began))
		}
		v, _ := s.Claim(t.Context(), request())
		if passed := time.Since(began) - time.Millisecond; v.State != store.Claimed || passed != time.Second {
			t.Errorf("got %v after %v, want claimed after 1s", v.State, passed)
		}
	})
}

func TestChanceIsRepeatable(t *testing.T) {
	run := func(seed uint64) string {
		s := storetest.Flaky(newReference(), &storetest.Faults{Seed: seed, Before: 0.3, After: 0.3})
		var b strings.Builder
		for range 200 {
			switch _, err := s.Claim(t.Context(), request()); {
			case errors.Is(err, storetest.ErrCutBefore):
				b.WriteByte('b')
			case errors.Is(err, storetest.ErrCutAfter):
				b.WriteByte('a')
			default:
				b.WriteByte('.')
			}
		}
		return b.String()
	}
	first := run(1)
	if again := run(1); first != again {
		t.Errorf("seed 1 gave %s, then %s", first, again)
	}
	if other := run(2); first == other {
		t.Errorf("seeds 1 and 2 both gave %s", first)
	}
	for _, c := range "ba." {
		if n := strings.Count(first, string(c)); n < 30 || n > 120 {
			t.Errorf("%q happened %d times in 200 calls, want 60 to 80 or so", c, n)
		}
	}
}

func TestFlakyHasExactlyTheAbilitiesOfItsStore(t *testing.T) {
	type (
		none  struct{ store.Store }
		renew struct {
			store.Store
			store.Renewer
		}
		park struct {
			store.Store
			store.Parker
		}
		fence struct {
			store.Store
			store.Fencer
		}
		renewPark struct {
			renew
			store.Parker
		}
		renewFence struct {
			renew
			store.Fencer
		}
		parkFence struct {
			park
			store.Fencer
		}
		renewParkFence struct {
			renewPark
			store.Fencer
		}
	)
	r := newReference()
	for _, s := range []store.Store{
		none{r}, renew{r, r}, park{r, r}, fence{r, r},
		renewPark{renew{r, r}, r}, renewFence{renew{r, r}, r}, parkFence{park{r, r}, r},
		renewParkFence{renewPark{renew{r, r}, r}, r},
		struct {
			none
			store.Batcher
		}{none{r}, r},
		struct {
			renew
			store.Batcher
		}{renew{r, r}, r},
		struct {
			park
			store.Batcher
		}{park{r, r}, r},
		struct {
			fence
			store.Batcher
		}{fence{r, r}, r},
		struct {
			renewPark
			store.Batcher
		}{renewPark{renew{r, r}, r}, r},
		struct {
			renewFence
			store.Batcher
		}{renewFence{renew{r, r}, r}, r},
		struct {
			parkFence
			store.Batcher
		}{parkFence{park{r, r}, r}, r},
		r, // has them all
	} {
		y := storetest.Flaky(s, &storetest.Faults{})
		if got, want := abilities(y), abilities(s); got != want {
			t.Errorf("%T: got abilities %v, want %v", s, got, want)
		}
	}
}

func abilities(s store.Store) [4]bool {
	_, r := s.(store.Renewer)
	_, p := s.(store.Parker)
	_, n := s.(store.Fencer)
	_, b := s.(store.Batcher)
	return [4]bool{r, p, n, b}
}

func TestAFlakyStoreWithoutFaultsSatisfiesEveryCase(t *testing.T) {
	storetest.Run(t, storetest.Harness{FakeTime: true, New: func(testing.TB) store.Store {
		return storetest.Flaky(newReference(), &storetest.Faults{})
	}})
}
