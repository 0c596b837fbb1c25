package redisstore_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// offline is a client that no test here sends anything with.
func offline(t testing.TB) *redis.Client { return connect(t, "127.0.0.1:1", nil) }

func FuzzKeysAreReadBackFromNames(f *testing.F) {
	s := open(f, offline(f))
	for _, part := range []string{
		"a", "~", "~~", "~a", "a:b", "%3A", "{}", "\x00\x7f\xff", strings.Repeat("x", 255), strings.Repeat("x", 256),
		"~" + strings.Repeat("0", 64), "~~" + strings.Repeat("0", 64),
	} {
		f.Add(part, "orders", "", part)
		f.Add("app", part, part, "1")
	}
	f.Fuzz(func(t *testing.T, application, topic, tag, id string) {
		k := store.Key{Application: application, Topic: topic, Tag: tag, ID: id}
		got, hashed, ok := s.KeyOf(recordName(k))
		if want, wantHashed := k.Bounded().Unbounded(); k.Validate() != nil {
			if ok {
				t.Errorf("%q: got %+v from the name of an invalid key", recordName(k), got)
			}
		} else if !ok || got != want || hashed != wantHashed {
			t.Errorf("%q: got %+v, %v, %v, want %+v, %v", recordName(k), got, hashed, ok, want, wantHashed)
		}
	})
}

func FuzzNamesOfRecordsAreOurs(f *testing.F) {
	s := open(f, offline(f))
	digest := "~" + strings.Repeat("0", 64)
	for _, name := range []string{
		"a:t::1", "a:t:g:%3A", "a:t:g:%3a", "a:t:g:%41", ":t:g:1", "a:t:g:", digest + ":t:" + digest + ":1", "a:t:g:~a", "a:t:~:1",
	} {
		f.Add(prefix + "{" + name + "}")
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, hashed, ok := s.KeyOf(name)
		switch {
		case !ok:
		case k.Validate() != nil:
			t.Errorf("%q: got the invalid key %+v", name, k)
		case !hashed && recordName(k) != name:
			t.Errorf("%q: got %+v, whose name is %q", name, k, recordName(k))
		case hashed && !strings.Contains(name, "~"):
			t.Errorf("%q: got a digest", name)
		}
	})
}

func FuzzPlacesAreReadBack(f *testing.F) {
	s := open(f, offline(f))
	f.Add("00000000000000000000000000000000.abc.17.0.5")
	name := base64.RawURLEncoding.EncodeToString([]byte(prefix + "{a:t::1}"))
	f.Add("00000000000000000000000000000000..end.2.1024." + name)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		again, err := s.PlaceAgain(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
			return
		}
		if third, err := s.PlaceAgain(again); err != nil || third != again {
			t.Errorf("%q became %q, and then %q, %v", text, again, third, err)
		}
	})
}
