package redisstore_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// golden are deliveries of which the commands of the original were recorded.
var golden = []struct {
	what    string
	tag, id string
	fails   bool
	name    string
}{
	{"G1 a tag", "TagA", "A1001", false, "MSGDEDUP:order-consumer:TopicOrder:TagA:A1001"},
	{"G2, G3 no tag, or an empty one", "", "A1002", false, "MSGDEDUP:order-consumer:TopicOrder:A1002"},
	{"G4, G5 a callback that fails", "TagA", "A1004", true, "MSGDEDUP:order-consumer:TopicOrder:TagA:A1004"},
	{"G6 beyond ASCII", "TagA", "订单-9", false,
		"MSGDEDUP:order-consumer:TopicOrder:TagA:\xE8\xAE\xA2\xE5\x8D\x95\x2D\x39"},
	{"G7 colons", "TagA", "a:b:c", false, "MSGDEDUP:order-consumer:TopicOrder:TagA:a:b:c"},
	{"G10 the default key", "TagA", "FD0000000000000000000000000000027A4A30946E0997966B320000", false,
		"MSGDEDUP:order-consumer:TopicOrder:TagA:FD0000000000000000000000000000027A4A30946E0997966B320000"},
	{"blanks, a selector and braces", "TagA || TagB", "x\t{y} z", false,
		"MSGDEDUP:order-consumer:TopicOrder:TagA || TagB:x\t{y} z"},
	{"300 characters", "TagA", strings.Repeat("k", 300), false,
		"MSGDEDUP:order-consumer:TopicOrder:TagA:" + strings.Repeat("k", 300)},
}

// Both sides leave the same keys, values and expiries, after the claim and
// after the end.
func TestOurDeliveriesLookLikeTheOriginals(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, ours := newOriginal(client), openCompat(t, client)
	for _, g := range golden {
		t.Run(g.what, func(t *testing.T) {
			ctx := within(t, ample)
			k := store.Key{Application: "order-consumer", Topic: "TopicOrder", Tag: g.tag, ID: g.id}
			empty(t, client)
			if got := theirs.meets(t, g.name); got != runs {
				t.Fatalf("the original %s", got)
			}
			running, _ := dump(t, client)
			end := theirs.succeeded
			if g.fails {
				end = theirs.failed
			}
			if err := end(ctx, g.name); err != nil {
				t.Fatal(err)
			}
			ended, _ := dump(t, client)

			empty(t, client)
			a := store.NewToken()
			claims(t, ours, store.ClaimRequest{Key: k, Token: a, Lease: time.Minute, Horizon: 3 * time.Hour}, 1)
			wantSame(t, client, running, map[string]record{g.name: {"CONSUMING", 60_000 * time.Millisecond}})
			if g.fails {
				if err := ours.Release(ctx, k, a, true); err != nil {
					t.Fatal(err)
				}
				wantSame(t, client, ended, nil)
				return
			}
			if c, err := ours.Complete(ctx, k, a, 1440*time.Minute); c != store.Completed || err != nil {
				t.Fatalf("complete: got %v, %v", c, err)
			}
			wantSame(t, client, ended, map[string]record{g.name: {"CONSUMED", 86_400 * time.Second}})
		})
	}
}

func empty(t testing.TB, client *redis.Client) {
	t.Helper()
	if err := client.FlushAll(within(t, ample)).Err(); err != nil {
		t.Fatal(err)
	}
}

// wantSame wants the server to hold, companions aside, what it held after the
// original's commands, and that to be what was recorded of it.
func wantSame(t *testing.T, client *redis.Client, theirs, recorded map[string]record) {
	t.Helper()
	ours, companions := dump(t, client)
	if len(companions) != 1 {
		t.Errorf("companions: got %v, want one", companions)
	}
	for who, got := range map[string]map[string]record{"the original's": theirs, "ours": ours} {
		same := maps.EqualFunc(got, recorded, func(a, b record) bool {
			return a.value == b.value && a.left <= b.left && a.left > b.left-5*time.Second
		})
		if !same {
			t.Errorf("%s: got %v, want %v", who, got, recorded)
		}
	}
}

// G8, G9 and G11, met from either side.
func TestEachSideTakesTheOthersRecordForWhatItIs(t *testing.T) {
	t.Parallel()
	client := private(t)
	theirs, ours := newOriginal(client), openCompat(t, client)
	ctx := within(t, ample)
	k := store.Key{Application: "order-consumer", Topic: "TopicOrder", Tag: "TagA", ID: "A1001"}
	name, a := compatName(k), store.NewToken()

	t.Run("G9 our claim", func(t *testing.T) {
		claims(t, ours, request(k, a), 1)
		if got := theirs.meets(t, name); got != sendsBack {
			t.Errorf("the original %s, want that it %s", got, sendsBack)
		}
		wantMain(t, client, name, "CONSUMING", time.Minute)
	})
	t.Run("G8 our completion", func(t *testing.T) {
		completes(t, ours, k, a, store.Completed)
		if got := theirs.meets(t, name); got != skips {
			t.Errorf("the original %s, want that it %s", got, skips)
		}
		wantMain(t, client, name, "CONSUMED", time.Hour)
	})
	t.Run("our parking", func(t *testing.T) {
		k := newKey()
		claims(t, ours, request(k, a), 1)
		if err := ours.Park(ctx, k, a, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := theirs.meets(t, compatName(k)); got != sendsBack {
			t.Errorf("the original %s, want that it %s", got, sendsBack)
		}
		wantMain(t, client, compatName(k), "CONSUMING", time.Hour)
	})
	t.Run("our release", func(t *testing.T) {
		k := newKey()
		claims(t, ours, request(k, a), 1)
		if err := ours.Release(ctx, k, a, true); err != nil {
			t.Fatal(err)
		}
		if got := theirs.meets(t, compatName(k)); got != runs {
			t.Errorf("the original %s, want that it %s", got, runs)
		}
	})

	k.ID = "A2000"
	name = compatName(k)
	t.Run("G9 the original's claim", func(t *testing.T) {
		if got := theirs.meets(t, name); got != runs {
			t.Fatalf("the original %s", got)
		}
		wantBusy(t, ours, k, a, time.Minute)
		wantMain(t, client, name, "CONSUMING", time.Minute)
	})
	t.Run("G8 the original's completion", func(t *testing.T) {
		if err := theirs.succeeded(ctx, name); err != nil {
			t.Fatal(err)
		}
		if v := answers(t, ours, k, store.Done); v.Rearmed {
			t.Errorf("got %+v, want nothing to have been given an expiry", v)
		}
		wantMain(t, client, name, "CONSUMED", 24*time.Hour)
	})
	t.Run("the original's failure", func(t *testing.T) {
		if err := theirs.failed(ctx, name); err != nil {
			t.Fatal(err)
		}
		claims(t, ours, request(k, a), 1)
	})
	t.Run("G11 a foreign value", func(t *testing.T) {
		if err := client.Set(ctx, name, "GARBAGE", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		if got := theirs.meets(t, name); got != runs {
			t.Errorf("the original %s, want that it %s", got, runs)
		}
		answers(t, ours, k, store.Corrupt)
		wantMain(t, client, name, "GARBAGE", time.Minute)
		if c, err := ours.Complete(ctx, k, a, 1440*time.Minute); c != store.Repaired || err != nil {
			t.Errorf("complete: got %v, %v", c, err)
		}
		wantMain(t, client, name, "CONSUMED", 24*time.Hour)
	})
}

// G12: what the original sends and swallows is refused here before it is sent.
func TestSettingsThatTheOriginalSwallowsAreRefused(t *testing.T) {
	t.Parallel()
	client := private(t)
	ours, ctx := openCompat(t, client), within(t, ample)
	k, a := newKey(), store.NewToken()
	if _, err := (original{client: client}).claim(ctx, compatName(k)); err == nil {
		t.Error("the original claims for 0 ms: got no error, but the server refuses it")
	}
	if err := (original{client: client}).succeeded(ctx, compatName(k)); err == nil {
		t.Error("the original keeps for 0 minutes: got no error, but the server refuses it")
	}
	_, err := ours.Claim(ctx, store.ClaimRequest{Key: k, Token: a, Horizon: time.Hour})
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("claim for 0 ms: got %v, want %v", err, store.ErrInvalid)
	}
	if _, err := ours.Complete(ctx, k, a, 0); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("complete for 0 minutes: got %v, want %v", err, store.ErrInvalid)
	}
	k.ID = ""
	_, err = ours.Claim(ctx, request(k, a))
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "Key.ID") {
		t.Errorf("claim of an empty key: got %v, want %v about Key.ID", err, store.ErrInvalid)
	}
	if mains, companions := dump(t, client); len(mains)+len(companions) != 0 {
		t.Errorf("the server holds %v, %v", mains, companions)
	}
}

// The original's retention is in minutes, its server's in seconds.
func TestKeepIsRoundedUpToWholeSeconds(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := openCompat(t, client)
	for keep, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Second, time.Second: time.Second, 90*time.Second + 1: 90 * time.Second,
		90*time.Second + time.Millisecond: 91 * time.Second, time.Minute: time.Minute,
		store.MaxDuration: store.MaxDuration,
	} {
		k := newKey()
		before := client.Time(t.Context()).Val()
		if _, err := s.Complete(within(t, ample), k, store.NewToken(), keep); err != nil {
			t.Fatal(err)
		}
		after := client.Time(t.Context()).Val()
		ends := time.UnixMilli(client.PExpireTime(t.Context(), compatName(k)).Val().Milliseconds())
		if ends.Before(before.Add(want).Truncate(time.Millisecond)) || ends.After(after.Add(want)) {
			t.Errorf("keep %v: ends %v to %v after the call, want %v", keep, ends.Sub(after), ends.Sub(before), want)
		}
	}
}

func TestTheNamesOfTheOriginalAreAmbiguous(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := openCompat(t, client)
	claims(t, s, request(store.Key{Application: "app", Topic: "t", Tag: "a", ID: "b"}, store.NewToken()), 1)
	answers(t, s, store.Key{Application: "app", Topic: "t", ID: "a:b"}, store.Busy)
	for _, sep := range []string{"|", "/", "%3A", "\x00", "{", "}", "}{", " ", "_", ".", ",", "\xff"} {
		for _, k := range []store.Key{
			{Application: "app", Topic: "t", Tag: "a" + sep + "b", ID: "c"},
			{Application: "app", Topic: "t", Tag: "a", ID: "b" + sep + "c"},
			{Application: "app" + sep + "t", Topic: "a", Tag: "b", ID: "c"},
		} {
			claims(t, s, request(k, store.NewToken()), 1)
		}
	}
	names, _ := dump(t, client)
	if got, want := len(names), 1+12*3; got != want {
		t.Errorf("got %d records, want %d", got, want)
	}
}
