package redisstore_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// steps are what an owner may do to its claim.
var steps = map[string]func(*testing.T, *redisstore.Store, store.Key, store.Token) error{
	"release": func(t *testing.T, s *redisstore.Store, k store.Key, a store.Token) error {
		return s.Release(within(t, ample), k, a, true)
	},
	"renew": func(t *testing.T, s *redisstore.Store, k store.Key, a store.Token) error {
		return s.Renew(within(t, ample), []store.Claim{{Key: k, Token: a}})[0]
	},
	"park": func(t *testing.T, s *redisstore.Store, k store.Key, a store.Token) error {
		return s.Park(within(t, ample), k, a, time.Hour)
	},
	"fence": func(t *testing.T, s *redisstore.Store, k store.Key, a store.Token) error {
		_, err := s.Fence(within(t, ample), k, a)
		return err
	},
}

// The original's claim has our value and no owner. It must not pass for ours.
func TestTheOriginalsClaimIsNeverTakenForOurs(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	theirs.expire = 3 * time.Minute
	for what, lose := range map[string]func(*testing.T, store.Key){
		"our claim lapsed": func(t *testing.T, k store.Key) { lapse(t, client, k) },
		"the original deleted our claim": func(t *testing.T, k store.Key) {
			if err := theirs.failed(t.Context(), compatName(k)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			k, a := newKey(), store.NewToken()
			claims(t, s, store.ClaimRequest{Key: k, Token: a, Lease: 5 * time.Minute, Horizon: time.Hour}, 1)
			lose(t, k)
			if got := theirs.meets(t, compatName(k)); got != runs {
				t.Fatalf("the original %s", got)
			}
			ends := client.PExpireTime(t.Context(), compatName(k)).Val()
			for name, step := range steps {
				if err := step(t, s, k, a); !errors.Is(err, store.ErrNotOwner) {
					t.Errorf("%s: got %v, want %v", name, err, store.ErrNotOwner)
				}
			}
			wantBusy(t, s, k, a, theirs.expire)
			wantBusy(t, s, k, store.NewToken(), theirs.expire)
			if now := client.PExpireTime(t.Context(), compatName(k)).Val(); now != ends {
				t.Errorf("the original's claim now ends at %v, want %v", now, ends)
			}
			wantMain(t, client, compatName(k), "CONSUMING", theirs.expire)

			if err := theirs.failed(t.Context(), compatName(k)); err != nil {
				t.Fatal(err)
			}
			lapse(t, client, k)
			claims(t, s, request(k, store.NewToken()), 2)
			completes(t, s, k, a, store.Late)
			wantMain(t, client, compatName(k), "CONSUMED", time.Hour)
		})
	}
}

// Only the original can tell then whether the effect happened once.
func TestCompletingWhileTheOriginalHoldsTheKeyIsLate(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	for _, keep := range []time.Duration{time.Minute, time.Hour} {
		k, a := newKey(), store.NewToken()
		claims(t, s, request(k, a), 1)
		if err := theirs.failed(t.Context(), compatName(k)); err != nil {
			t.Fatal(err)
		}
		theirs.expire = 2 * time.Minute
		if got := theirs.meets(t, compatName(k)); got != runs {
			t.Fatalf("the original %s", got)
		}
		if c, err := s.Complete(within(t, ample), k, a, keep); c != store.Late || err != nil {
			t.Errorf("complete: got %v, %v, want late", c, err)
		}
		wantMain(t, client, compatName(k), "CONSUMED", keep)
	}
}

// lapse brings both keys of a claim to where the end of its lease brings them.
func lapse(t *testing.T, client *redis.Client, k store.Key) {
	t.Helper()
	value := strings.Split(client.Get(t.Context(), companionName(k)).Val(), "|")
	horizon, err := time.ParseDuration(value[4] + "ms")
	if err != nil {
		t.Fatalf("companion %q: %v", value, err)
	}
	err = errors.Join(client.Del(t.Context(), compatName(k)).Err(),
		client.PExpire(t.Context(), companionName(k), horizon-1).Err())
	if err != nil {
		t.Fatal(err)
	}
}

// A fresh claim of ours survives the delete of an original that held the key
// before: for our consumers at once, for the original's from the next renewal.
func TestOurClaimSurvivesTheOriginalsDelete(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	for name, step := range steps {
		k, a := newKey(), store.NewToken()
		claims(t, s, request(k, a), 1)
		if err := theirs.failed(t.Context(), compatName(k)); err != nil {
			t.Fatal(err)
		}
		answers(t, s, k, store.Busy)
		if err := step(t, s, k, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		switch name {
		case "renew", "fence":
			wantMain(t, client, compatName(k), "CONSUMING", time.Minute)
			completes(t, s, k, a, store.Completed)
		case "park":
			wantMain(t, client, compatName(k), "CONSUMING", time.Hour)
			answers(t, s, k, store.Parked)
		case "release":
			wantMain(t, client, compatName(k), "", 0)
			claims(t, s, request(k, store.NewToken()), 2)
		}
	}
}

func TestTheOriginalsCompletionEndsOurClaim(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	theirs.retention = 7 * 24 * time.Hour
	k, a := newKey(), store.NewToken()
	claims(t, s, request(k, a), 1)
	if err := theirs.succeeded(t.Context(), compatName(k)); err != nil {
		t.Fatal(err)
	}
	for name, step := range steps {
		if err := step(t, s, k, a); !errors.Is(err, store.ErrNotOwner) {
			t.Errorf("%s: got %v, want %v", name, err, store.ErrNotOwner)
		}
	}
	answers(t, s, k, store.Done)
	completes(t, s, k, a, store.AlreadyDone)
	wantMain(t, client, compatName(k), "CONSUMED", theirs.retention) // ours is for an hour
}

// What the original does to a finished record of ours, and how far that is made
// good: not the end it gives it, and for ten minutes that it deletes it.
func TestTheOriginalsDeleteOfDone(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	theirs.retention = time.Minute
	k, a := newKey(), store.NewToken()
	completes(t, s, k, a, store.Recreated)
	if err := theirs.succeeded(t.Context(), compatName(k)); err != nil {
		t.Fatal(err)
	}
	wantMain(t, client, compatName(k), "CONSUMED", time.Minute)

	if err := theirs.failed(t.Context(), compatName(k)); err != nil {
		t.Fatal(err)
	}
	answers(t, s, k, store.Done)
	if got := theirs.meets(t, compatName(k)); got != runs {
		t.Errorf("the original %s, want that it %s", got, runs)
	}
	answers(t, s, k, store.Done)
	completes(t, s, k, a, store.Completed)
	wantMain(t, client, compatName(k), "CONSUMED", time.Hour)

	theirs.retention = 7 * 24 * time.Hour
	if err := theirs.succeeded(t.Context(), compatName(k)); err != nil {
		t.Fatal(err)
	}
	completes(t, s, k, a, store.Completed)
	wantMain(t, client, compatName(k), "CONSUMED", theirs.retention)

	if err := client.Del(t.Context(), compatName(k), companionName(k)).Err(); err != nil {
		t.Fatal(err)
	}
	claims(t, s, request(k, a), 1)
}

func TestAParkedKeyStaysParkedWhenTheOriginalDeletesIt(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	k, a := newKey(), store.NewToken()
	claims(t, s, request(k, a), 1)
	err := errors.Join(s.Park(within(t, ample), k, a, time.Hour), theirs.failed(t.Context(), compatName(k)))
	if err != nil {
		t.Fatal(err)
	}
	answers(t, s, k, store.Parked)
	if got := theirs.meets(t, compatName(k)); got != runs {
		t.Errorf("the original %s, want that it %s", got, runs)
	}
	ends := client.PExpireTime(t.Context(), compatName(k)).Val()
	if err := client.Persist(t.Context(), companionName(k)).Err(); err != nil {
		t.Fatal(err)
	}
	if v := answers(t, s, k, store.Parked); !v.Rearmed {
		t.Errorf("got %+v, want the companion to have been given an expiry", v)
	}
	if now := client.PExpireTime(t.Context(), compatName(k)).Val(); now != ends {
		t.Errorf("the original's claim now ends at %v, want %v", now, ends)
	}
	if err := theirs.succeeded(t.Context(), compatName(k)); err != nil {
		t.Fatal(err)
	}
	answers(t, s, k, store.Done)
}

// A claim of the original that is about to end, beside one of ours that has just
// lapsed, both within the tolerance for moved slots.
func TestTheOriginalsClaimIsNotOursInItsLastMilliseconds(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	theirs.expire = 8 * time.Millisecond
	judged := 0
	for range 100 {
		k, a := newKey(), store.NewToken()
		claims(t, s, request(k, a), 1)
		lapse(t, client, k)
		began := time.Now()
		if got := theirs.meets(t, compatName(k)); got != runs {
			t.Fatalf("the original %s", got)
		}
		err := s.Renew(within(t, ample), []store.Claim{{Key: k, Token: a}})[0]
		if time.Since(began) > theirs.expire-2*time.Millisecond {
			continue // it may have ended
		}
		if judged++; !errors.Is(err, store.ErrNotOwner) {
			t.Errorf("renew: got %v, want %v", err, store.ErrNotOwner)
		}
	}
	t.Logf("judged %d of 100", judged)
}

// Whenever a claim meets another in its last millisecond it either waits or
// takes over; it never takes the key for a free one.
func TestAttemptsAreCountedInTheLastMillisecondOfALease(t *testing.T) {
	t.Parallel()
	s := openCompat(t, private(t))
	for range 200 {
		r := store.ClaimRequest{Key: newKey(), Token: store.NewToken(), Lease: time.Millisecond, Horizon: time.Hour}
		claims(t, s, r, 1)
		for {
			r.Token = store.NewToken()
			v, err := s.Claim(within(t, ample), r)
			if err != nil || v.State != store.Busy && (v.State != store.Claimed || v.Attempt != 2) {
				t.Fatalf("claim: got %+v, %v, want busy or attempt 2", v, err)
			}
			if v.State == store.Claimed {
				break
			}
		}
	}
}

func TestOfConcurrentClaimsByBothExactlyOneIsGranted(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, s := newOriginal(client), openCompat(t, client)
	for _, before := range []string{"free", "released", "lapsed"} {
		for range 10 {
			k, a := newKey(), store.NewToken()
			if before != "free" {
				claims(t, s, request(k, a), 1)
			}
			switch before {
			case "released":
				if err := s.Release(within(t, ample), k, a, true); err != nil {
					t.Fatal(err)
				}
			case "lapsed":
				lapse(t, client, k)
			}
			var granted atomic.Int32
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if free, err := theirs.claim(t.Context(), compatName(k)); err != nil {
						t.Error(err)
					} else if free {
						granted.Add(1)
					}
				})
				all.Go(func() {
					if v, err := s.Claim(t.Context(), request(k, store.NewToken())); err != nil {
						t.Error(err)
					} else if v.State == store.Claimed {
						granted.Add(1)
					}
				})
			}
			all.Wait()
			if n := granted.Load(); n != 1 {
				t.Errorf("%s key: %d of 16 claims were granted, want 1", before, n)
			}
		}
	}
}
