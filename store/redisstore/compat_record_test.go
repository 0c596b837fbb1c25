package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestSharedRecordsAreAsDocumented(t *testing.T) {
	t.Parallel()
	client := private(t)
	s, ctx := openCompat(t, client), within(t, ample)
	k, a, b := newKey(), store.NewToken(), store.NewToken()
	r := store.ClaimRequest{Key: k, Token: a, Lease: 20 * time.Second, Horizon: 30 * time.Second}

	running, shown := fmt.Sprintf("P|%s|1|20000|30000|", a), record{"CONSUMING", 20 * time.Second}
	claims(t, s, r, 1)
	wantPair(t, client, k, shown, record{running + "0", 50 * time.Second})
	fence, err := s.Fence(ctx, k, a)
	if err != nil {
		t.Fatal(err)
	}
	wantPair(t, client, k, shown, record{running + strconv.FormatInt(fence, 10), 50 * time.Second})
	if err := s.Release(ctx, k, a, false); err != nil {
		t.Fatal(err)
	}
	wantPair(t, client, k, record{}, record{fmt.Sprintf("R|%s|0|30000|%d", a, fence), 30 * time.Second})
	r.Token = b
	claims(t, s, r, 1)
	if err := s.Release(ctx, k, b, true); err != nil {
		t.Fatal(err)
	}
	r.Token, r.MaxAttempts, r.ParkKeep = a, 1, time.Minute
	if v, err := s.Claim(ctx, r); v.State != store.Parked || err != nil {
		t.Fatalf("claim: got %+v, %v, want parked", v, err)
	}
	shown = record{"CONSUMING", time.Minute}
	wantPair(t, client, k, shown, record{"X|" + strings.Repeat("0", 32) + "|1|60000", time.Minute})
	completes(t, s, k, b, store.Late)
	wantPair(t, client, k, record{"CONSUMED", time.Hour}, record{"D|" + b.String() + "|3600000", 10 * time.Minute})

	parked := newKey()
	claims(t, s, request(parked, a), 1)
	if err := s.Park(ctx, parked, a, time.Minute); err != nil {
		t.Fatal(err)
	}
	wantPair(t, client, parked, shown, record{"X|" + a.String() + "|1|60000", time.Minute})
}

func TestAnExpiryThatAMainKeyLostIsGivenBack(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := openCompat(t, client)
	claim, released := "P|"+someToken+"|1|20000|30000|0", "R|"+someToken+"|1|30000|0"
	done, parked := "D|"+someToken+"|3600000", "X|"+someToken+"|1|60000"
	const second, minute = time.Second, time.Minute
	for _, c := range []struct {
		word, value string
		life        time.Duration // of the companion
		state       store.State
		left, rest  time.Duration // of main key and companion, afterwards
	}{
		{"CONSUMING", "", 0, store.Busy, minute, 0},
		{"CONSUMED", "", 0, store.Done, 24 * time.Hour, 0},
		{"CONSUMED", done, minute, store.Done, time.Hour, 10 * minute},
		{"CONSUMING", claim, 45 * second, store.Busy, 20 * second, 50 * second},
		{"CONSUMING", claim, 25 * second, store.Busy, 20 * second, 50 * second}, // it would have lapsed
		{"CONSUMING", released, 25 * second, store.Busy, minute, 25 * second},
		{"CONSUMING", parked, 25 * second, store.Parked, minute, minute},
	} {
		k := newKey()
		if err := client.Set(t.Context(), compatName(k), c.word, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if c.value != "" {
			if err := client.Set(t.Context(), companionName(k), c.value, c.life).Err(); err != nil {
				t.Fatal(err)
			}
		}
		want := store.Verdict{State: c.state, Rearmed: true}
		if c.state == store.Busy {
			want.Left = c.left
		}
		if got, err := s.Claim(within(t, ample), request(k, store.NewToken())); got != want || err != nil {
			t.Errorf("claim on %q, %q: got %+v, %v, want %+v", c.word, c.value, got, err, want)
		}
		wantPair(t, client, k, record{c.word, c.left}, record{c.value, c.rest})
		if again := answers(t, s, k, c.state); again.Rearmed {
			t.Errorf("second claim on %q, %q: got %+v, want nothing to have been given an expiry", c.word, c.value, again)
		}
	}
}

// The migration of a slot moves expiries by some milliseconds, each by its own.
func TestAClaimIsKnownAfterItsSlotHasMoved(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := openCompat(t, client)
	for shift, want := range map[time.Duration]error{
		-8 * time.Millisecond: nil, 8 * time.Millisecond: nil,
		-time.Second: store.ErrNotOwner, time.Second: store.ErrNotOwner,
	} {
		for name, step := range steps {
			k, a := newKey(), store.NewToken()
			claims(t, s, request(k, a), 1)
			ends := client.PExpireTime(t.Context(), compatName(k)).Val() + shift
			if err := client.PExpireAt(t.Context(), compatName(k), time.UnixMilli(ends.Milliseconds())).Err(); err != nil {
				t.Fatal(err)
			}
			if err := step(t, s, k, a); !errors.Is(err, want) {
				t.Errorf("%s after a shift of %v: got %v, want %v", name, shift, err, want)
			}
		}
	}
}

func TestASpoiledCompanionIsCorruptUnlessTheKeyIsDone(t *testing.T) {
	t.Parallel()
	client := private(t)
	s, ctx := openCompat(t, client), within(t, ample)
	for _, value := range malformed {
		for word, want := range map[string]store.State{
			"": store.Corrupt, "CONSUMING": store.Corrupt, "CONSUMED": store.Done, "GARBAGE": store.Corrupt,
		} {
			k, a := newKey(), store.NewToken()
			if err := client.Set(ctx, companionName(k), value, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			if word != "" {
				if err := client.Set(ctx, compatName(k), word, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if v, err := s.Claim(ctx, request(k, a)); v.State != want || err != nil {
				t.Errorf("claim on %q, %q: got %+v, %v, want %v", word, value, v, err, want)
			}
			wantPair(t, client, k, record{word, time.Minute}, record{value, time.Minute})
		}
	}
	k, a := newKey(), store.NewToken()
	claims(t, s, request(k, a), 1)
	if err := client.Set(ctx, companionName(k), "GARBAGE", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	completes(t, s, k, a, store.Repaired)

	k = newKey()
	if err := client.RPush(ctx, companionName(k), "an entry").Err(); err != nil {
		t.Fatal(err)
	}
	answers(t, s, k, store.Corrupt)
	_, err := s.Complete(ctx, k, a, time.Hour)
	wantFailure(t, err, store.Permanent, "WRONGTYPE")
}

// What a claim must answer about any two values, told in another language than
// the scripts. Both keys have a minute to live, so a claim in the companion ends
// when that in the main key does only by its lease and horizon.
func FuzzClaimOnAnyPair(f *testing.F) {
	client := private(f)
	s := openCompat(f, client)
	for _, value := range append(malformed, "P|"+someToken+"|1|20000|30000|0", "P|"+someToken+"|1|20000|70000|0",
		"R|"+someToken+"|0|30000|1700000000000", "D|"+someToken+"|60000", "X|"+someToken+"|3|1") {
		for _, word := range []string{"", "CONSUMING", "CONSUMED", "consuming", "CONSUMED\n", "\x00"} {
			f.Add(word, value)
		}
	}
	f.Fuzz(func(t *testing.T, word, value string) {
		k := newKey()
		ctx, cancel := context.WithTimeout(t.Context(), ample)
		defer cancel()
		defer client.Del(ctx, compatName(k), companionName(k))
		for name, v := range map[string]string{compatName(k): word, companionName(k): value} {
			if v == "" {
				continue
			}
			if err := client.Set(ctx, name, v, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
		want, attempt := expectedOfPair(word, value)
		v, err := s.Claim(ctx, request(k, store.NewToken()))
		if err != nil || v.State != want || v.Attempt != attempt {
			t.Errorf("claim on %q, %q: got %+v, %v, want %v attempt %d", word, value, v, err, want, attempt)
		}
	})
}

func expectedOfPair(word, value string) (state store.State, attempt int) {
	if value != "" {
		state, attempt = expected(value)
	}
	switch {
	case word == "CONSUMED":
		return store.Done, 0
	case word != "" && word != "CONSUMING":
		return store.Corrupt, 0
	case state == store.Corrupt || state == store.Done || state == store.Parked:
		return state, 0
	case word == "CONSUMING":
		return store.Busy, 0
	case value == "":
		return store.Claimed, 1
	}
	return state, attempt
}
