package redisstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// looks wants Get to return exactly r, times up to ten seconds ago.
func looks(t *testing.T, s *redisstore.Store, r store.Record) {
	t.Helper()
	got, err := s.Get(within(t, ample), r.Key)
	if err != nil {
		t.Errorf("get: %v", err)
	}
	for _, d := range []struct{ got, want *time.Duration }{{&got.LeaseLeft, &r.LeaseLeft}, {&got.ExpiresIn, &r.ExpiresIn}} {
		if *d.got <= *d.want && *d.got > *d.want-10*time.Second {
			*d.got = *d.want
		}
	}
	if got != r {
		t.Errorf("get: got %+v, want %+v", got, r)
	}
}

func TestALookTellsWhatTheNextClaimWillMakeOfARecord(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s := open(t, client)
	token, err := store.ParseToken(someToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value string
		life  time.Duration // 0: for ever
		want  store.Record
	}{
		{"P|" + someToken + "|3|20000|30000|7", 40 * time.Second, store.Record{
			Status: store.StatusConsuming, Token: token, Attempt: 3, Lease: 20 * time.Second, Horizon: 30 * time.Second, Fence: 7,
			LeaseLeft: 10 * time.Second, ExpiresIn: 40 * time.Second,
		}},
		{"P|" + someToken + "|1|20000|30000|0", 0, store.Record{
			Status: store.StatusConsuming, Token: token, Attempt: 1, Lease: 20 * time.Second, Horizon: 30 * time.Second,
			LeaseLeft: 20 * time.Second, ExpiresIn: 50 * time.Second,
		}},
		{"P|" + someToken + "|1|20000|30000|0", time.Hour, store.Record{
			Status: store.StatusConsuming, Token: token, Attempt: 1, Lease: 20 * time.Second, Horizon: 30 * time.Second,
			LeaseLeft: 20 * time.Second, ExpiresIn: 50 * time.Second,
		}},
		{"P|" + someToken + "|1|20000|30000|0", 29 * time.Second, store.Record{
			Status: store.StatusLapsed, Token: token, Attempt: 1, Lease: 20 * time.Second, Horizon: 30 * time.Second,
			LeaseLeft: -time.Second, ExpiresIn: 29 * time.Second,
		}},
		{"R|" + someToken + "|0|30000|9", 20 * time.Second, store.Record{
			Status: store.StatusLapsed, Token: token, Horizon: 30 * time.Second, Fence: 9,
			LeaseLeft: -10 * time.Second, ExpiresIn: 20 * time.Second,
		}},
		{"D|" + someToken + "|60000", 0, store.Record{Status: store.StatusConsumed, Token: token, ExpiresIn: time.Minute}},
		{"X|00000000000000000000000000000000|5|60000", time.Minute, store.Record{
			Status: store.StatusParked, Attempt: 5, ExpiresIn: time.Minute,
		}},
		{"nonsense", time.Minute, store.Record{Status: store.StatusCorrupt, ExpiresIn: time.Minute}},
		{"", 0, store.Record{Status: store.StatusCorrupt}},
	} {
		c.want.Key = newKey()
		if err := client.Set(t.Context(), recordName(c.want.Key), c.value, c.life).Err(); err != nil {
			t.Fatal(err)
		}
		looks(t, s, c.want)
	}
}

func TestAValueOfAForeignTypeIsShownAndForgotten(t *testing.T) {
	t.Parallel()
	client := private(t)
	for kind, c := range map[string]struct {
		s    *redisstore.Store
		name func(store.Key) string
	}{
		"native":             {open(t, client), recordName},
		"beside Java":        {openCompat(t, client), compatName},
		"a companion's name": {openCompat(t, client), companionName},
	} {
		k := newKey()
		if err := client.RPush(t.Context(), c.name(k), "an entry").Err(); err != nil {
			t.Fatal(err)
		}
		looks(t, c.s, store.Record{Key: k, Status: store.StatusCorrupt})
		for _, want := range []error{nil, store.ErrNoRecord} {
			if err := c.s.Forget(within(t, ample), k); !errors.Is(err, want) {
				t.Errorf("%s: forget: got %v, want %v", kind, err, want)
			}
		}
	}
}

// What the original wrote has neither owner nor terms, but is there.
func TestRecordsOfTheOriginalAreShown(t *testing.T) {
	t.Parallel()
	client := private(t)
	s := openCompat(t, client)
	claimed, done := newKey(), newKey()
	for k, value := range map[store.Key]string{claimed: "CONSUMING", done: "CONSUMED"} {
		if err := client.Set(t.Context(), compatName(k), value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	looks(t, s, store.Record{Key: done, Status: store.StatusConsumed, ExpiresIn: time.Minute})
	looks(t, s, store.Record{
		Key: claimed, Status: store.StatusConsuming, LeaseLeft: time.Minute, ExpiresIn: time.Minute,
	})
	if err := s.Forget(within(t, ample), claimed); !errors.Is(err, store.ErrInFlight) {
		t.Errorf("forget a claim: got %v, want it in flight", err)
	}
	if err := s.Forget(within(t, ample), done); err != nil {
		t.Errorf("forget: %v", err)
	}
	claims(t, s, request(done, store.NewToken()), 1)
}

func TestRecordsSharedWithTheOriginalAreNotListed(t *testing.T) {
	t.Parallel()
	_, err := openCompat(t, private(t)).Scan(within(t, ample), store.Query{Limit: 1})
	if !errors.Is(err, errors.ErrUnsupported) || store.ClassOf(err) != store.Permanent {
		t.Errorf("got %v, want a permanent error that wraps ErrUnsupported", err)
	}
}

// A forget whose reply was lost is repeated, and then finds nothing.
func TestAForgetThatHadToBeRepeatedIsNoMistake(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s := open(t, client)
	keys := newKeys(1)
	finish(t, s, keys)
	client.AddHook(&loseOne{})
	if err := s.Forget(within(t, ample), keys[0]); err != nil {
		t.Errorf("got %v, want it forgotten", err)
	}
}

// loseOne is a hook that loses the reply to the first script.
type loseOne struct {
	around
	lost bool
}

func (l *loseOne) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && !l.lost && strings.HasPrefix(cmd.Name(), "eval") {
			l.lost = true
			err = io.EOF
			cmd.SetErr(err)
		}
		return err
	}
}
