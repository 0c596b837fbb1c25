package redisstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestRecordsAreAsDocumented(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s, ctx := open(t, client), within(t, ample)
	k, parked := newKey(), newKey()
	a, b := store.NewToken(), store.NewToken()
	zeros := strings.Repeat("0", 32)
	r := store.ClaimRequest{Key: k, Token: a, Lease: 20 * time.Second, Horizon: 30 * time.Second}

	claims(t, s, r, 1)
	stored(t, client, k, "P|"+a.String()+"|1|20000|30000|0", 50*time.Second)
	fence, err := s.Fence(ctx, k, a)
	if err != nil {
		t.Fatal(err)
	}
	stored(t, client, k, fmt.Sprintf("P|%s|1|20000|30000|%d", a, fence), 50*time.Second)
	if err := s.Release(ctx, k, a, false); err != nil {
		t.Fatal(err)
	}
	stored(t, client, k, fmt.Sprintf("R|%s|0|30000|%d", a, fence), 30*time.Second)
	r.Token = b
	claims(t, s, r, 1)
	stored(t, client, k, fmt.Sprintf("P|%s|1|20000|30000|%d", b, fence), 50*time.Second)
	completes(t, s, k, b, store.Completed)
	stored(t, client, k, "D|"+b.String()+"|3600000", time.Hour)

	r.Key = parked
	claims(t, s, r, 1)
	if err := s.Park(ctx, parked, b, time.Minute); err != nil {
		t.Fatal(err)
	}
	stored(t, client, parked, "X|"+b.String()+"|1|60000", time.Minute)

	beyond := newKey()
	r.Key = beyond
	claims(t, s, r, 1)
	if err := s.Release(ctx, beyond, b, true); err != nil {
		t.Fatal(err)
	}
	r.Token, r.MaxAttempts, r.ParkKeep = a, 1, time.Minute
	if v, err := s.Claim(ctx, r); v.State != store.Parked || err != nil {
		t.Fatalf("claim: got %+v, %v, want parked", v, err)
	}
	stored(t, client, beyond, "X|"+zeros+"|1|60000", time.Minute)
}

// stored wants the record of k to have this value and to live for just below d.
func stored(t *testing.T, client *redis.Client, k store.Key, want string, d time.Duration) {
	t.Helper()
	got, err := client.Get(t.Context(), recordName(k)).Result()
	if err != nil || got != want {
		t.Errorf("record: got %q, %v, want %q", got, err, want)
	}
	if left := client.PTTL(t.Context(), recordName(k)).Val(); left > d || left < d-10*time.Second {
		t.Errorf("record %q: expires in %v, want %v", got, left, d)
	}
}

// An expiry later than a record can have been given means that the server's
// clock was set back; without a correction the key would be blocked until then.
func TestAnExpiryThatIsTooLateIsCorrected(t *testing.T) {
	t.Parallel()
	client := shared(t)
	older := shared(t)
	beforeSeven(older)
	s, scripts := open(t, client), open(t, older)
	for _, c := range []struct {
		value string
		want  store.Verdict
		life  time.Duration
	}{
		{"P|" + someToken + "|1|20000|30000|0",
			store.Verdict{State: store.Busy, Left: 20 * time.Second, Rearmed: true}, 50 * time.Second},
		{"D|" + someToken + "|60000", store.Verdict{State: store.Done, Rearmed: true}, time.Minute},
		{"X|" + someToken + "|1|60000", store.Verdict{State: store.Parked, Rearmed: true}, time.Minute},
	} {
		s := s
		if c.want.State == store.Done {
			s = scripts // the fast path answers done without looking
		}
		k := newKey()
		if err := client.Set(t.Context(), recordName(k), c.value, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Claim(within(t, ample), request(k, store.NewToken())); got != c.want || err != nil {
			t.Errorf("claim on %q: got %+v, %v, want %+v", c.value, got, err, c.want)
		}
		stored(t, client, k, c.value, c.life)
		again := c.want
		again.Rearmed, again.Left = false, 0
		got, err := s.Claim(within(t, ample), request(k, store.NewToken()))
		if got.Left = 0; got != again || err != nil {
			t.Errorf("second claim on %q: got %+v, %v, want %+v", c.value, got, err, again)
		}
	}
}

func TestTheOwnersRepeatGivesAnExpiryBack(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s, ctx := open(t, client), within(t, ample)
	owner, err := store.ParseToken(someToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value string
		step  func(store.Key) error
		life  time.Duration
	}{
		{"P|" + someToken + "|1|20000|30000|9000000000000", func(k store.Key) error {
			_, err := s.Fence(ctx, k, owner)
			return err
		}, 50 * time.Second},
		{"R|" + someToken + "|1|30000|0", func(k store.Key) error { return s.Release(ctx, k, owner, true) }, 30 * time.Second},
		{"X|" + someToken + "|1|60000", func(k store.Key) error { return s.Park(ctx, k, owner, time.Hour) }, time.Minute},
	} {
		k := newKey()
		if err := client.Set(ctx, recordName(k), c.value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.step(k); err != nil {
			t.Errorf("%q: %v", c.value, err)
		}
		stored(t, client, k, strings.Replace(c.value, "9000000000000", "9000000000001", 1), c.life)
	}
}

const someToken = "0123456789abcdef0123456789abcdef"

// malformed are values that no script writes, each by one fault.
var malformed = []string{
	"", "P", "|", "CONSUMED", "CONSUMING", "\x00",
	"P|" + someToken + "|1|20000|30000",            // too short
	"P|" + someToken + "|1|20000|30000|0|0",        // too long
	"P|" + someToken + "|1|20000|30000|0|",         // trailing separator
	"P|" + someToken + "|1||30000|0",               // empty field
	"P|" + someToken + "|1|20000|30000|0\n",        // trailing line feed
	"P|" + someToken + "|1|20000|30000|0\x00",      // trailing NUL
	" P|" + someToken + "|1|20000|30000|0",         // leading blank
	"p|" + someToken + "|1|20000|30000|0",          // lower-case state
	"Q|" + someToken + "|1|20000|30000|0",          // unknown state
	"P|" + someToken[1:] + "|1|20000|30000|0",      // short token
	"P|" + someToken + "0|1|20000|30000|0",         // long token
	"P|" + someToken[1:] + "A|1|20000|30000|0",     // upper-case token
	"P|" + someToken + "|1|0|30000|0",              // no lease
	"P|" + someToken + "|1|20000|0|0",              // no horizon
	"P|" + someToken + "|01|20000|30000|0",         // leading zero
	"P|" + someToken + "|-1|20000|30000|0",         // sign
	"P|" + someToken + "|1.5|20000|30000|0",        // fraction
	"P|" + someToken + "|1e3|20000|30000|0",        // exponent
	"P|" + someToken + "|0x1|20000|30000|0",        // not decimal
	"P|" + someToken + "|1|10000000000000|1|0",     // 14 digits
	"R|" + someToken + "|1|20000|30000|0",          // a field too many
	"R|" + someToken + "|1|0|0",                    // no horizon
	"D|" + someToken,                               // no keep
	"D|" + someToken + "|0",                        // keep of zero
	"D|" + someToken + "|1|1",                      // a field too many
	"X|" + someToken + "|1|0",                      // keep of zero
	"X|" + someToken + "|1",                        // a field too few
	"D|" + someToken + "|1\nD|" + someToken + "|1", // two records
}

func TestMalformedRecordsAreCorruptAndLeftAlone(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s := open(t, client)
	owner, err := store.ParseToken(someToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range malformed {
		k := newKey()
		if err := client.Set(t.Context(), recordName(k), value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		for _, token := range []store.Token{owner, store.NewToken()} {
			if v, err := s.Claim(within(t, ample), request(k, token)); v.State != store.Corrupt || err != nil {
				t.Errorf("claim on %q: got %+v, %v, want corrupt", value, v, err)
			}
		}
		if got := client.Get(t.Context(), recordName(k)).Val(); got != value {
			t.Errorf("claims changed %q to %q", value, got)
		}
	}
}

// What a stranger's claim must answer about any value, told in another language
// than the scripts. The record has a long expiry, so nothing has lapsed.
func FuzzClaimOnAnyValue(f *testing.F) {
	client := shared(f)
	s := open(f, client)
	for _, value := range malformed {
		f.Add(value)
	}
	f.Add("P|" + someToken + "|1|20000|30000|0")
	f.Add("R|" + someToken + "|0|30000|1700000000000")
	f.Add("D|" + someToken + "|9999999999999")
	f.Add("X|" + someToken + "|3|1")
	f.Fuzz(func(t *testing.T, value string) {
		k := newKey()
		ctx, cancel := context.WithTimeout(t.Context(), ample)
		defer cancel()
		if err := client.Set(ctx, recordName(k), value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		defer client.Del(ctx, recordName(k))
		v, err := s.Claim(ctx, request(k, store.NewToken()))
		want, attempt := expected(value)
		if err != nil || v.State != want || v.Attempt != attempt {
			t.Errorf("claim on %q: got %+v, %v, want %v attempt %d", value, v, err, want, attempt)
		}
	})
}

var wellFormed = regexp.MustCompile(`\A(?:` +
	`(P)\|[0-9a-f]{32}\|(0|[1-9]\d{0,12})\|[1-9]\d{0,12}\|[1-9]\d{0,12}\|(?:0|[1-9]\d{0,12})|` +
	`(R)\|[0-9a-f]{32}\|(0|[1-9]\d{0,12})\|[1-9]\d{0,12}\|(?:0|[1-9]\d{0,12})|` +
	`(D)\|[0-9a-f]{32}\|[1-9]\d{0,12}|` +
	`(X)\|[0-9a-f]{32}\|(?:0|[1-9]\d{0,12})\|[1-9]\d{0,12})\z`)

func expected(value string) (store.State, int) {
	m := wellFormed.FindStringSubmatch(value)
	switch {
	case m == nil:
		return store.Corrupt, 0
	case m[1] == "P" && !lapsed(value):
		return store.Busy, 0
	case m[1] == "P" || m[3] == "R":
		attempt, _ := strconv.Atoi(m[2] + m[4]) // the pattern admits only digits
		return store.Claimed, attempt + 1
	case m[5] == "D":
		return store.Done, 0
	}
	return store.Parked, 0
}

// lapsed tells whether less than the horizon is left of the minute that every
// record here is given, when a record of its lease and horizon may live so long.
func lapsed(value string) bool {
	fields := strings.Split(value, "|")
	lease, _ := strconv.Atoi(fields[3])
	horizon, _ := strconv.Atoi(fields[4])
	return lease+horizon >= 60_000 && horizon >= 60_000
}
