package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// pair is one server behind two stores: one takes the fast path, one cannot.
type pair struct {
	client        *redis.Client
	fast, scripts *redisstore.Store
}

func newPair(t *testing.T) pair {
	t.Helper()
	older := shared(t)
	beforeSeven(older)
	p := pair{client: shared(t), scripts: open(t, older)}
	p.fast = open(t, p.client)
	return p
}

// met is what a call answers and leaves behind.
type met struct {
	answer string
	value  string
	lives  time.Duration // to 10 s
}

// try puts a record in place and makes a call on it.
func (p pair) try(t *testing.T, s *redisstore.Store, value string, lives time.Duration,
	call func(*redisstore.Store, store.Key) string) met {
	t.Helper()
	k, ctx := newKey(), within(t, ample)
	defer p.client.Del(ctx, recordName(k))
	var err error
	switch value {
	case "":
	case "list":
		err = p.client.RPush(ctx, recordName(k), "an entry").Err()
	default:
		err = p.client.Set(ctx, recordName(k), value, lives).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	m := met{answer: call(s, k)}
	m.value = p.client.Get(ctx, recordName(k)).Val()
	m.lives = p.client.PTTL(ctx, recordName(k)).Val().Round(10 * time.Second)
	return m
}

func TestTheFastPathDecidesAsTheScriptsDo(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	own, err := store.ParseToken(someToken)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("f", 32)
	values := append([]string{"", "list"}, malformed...)
	for _, token := range []string{someToken, other} {
		values = append(values, "P|"+token+"|2|20000|30000|7", "P|"+token+"|2|1|80000|0", "R|"+token+"|1|70000|9",
			"D|"+token+"|60000", "D|"+token+"|9000000", "X|"+token+"|3|60000")
	}
	outcome := func(answer any, err error) string {
		if err != nil {
			return store.ClassOf(err).String()
		}
		return fmt.Sprint(answer)
	}
	calls := map[string]func(*redisstore.Store, store.Key) string{
		"claim": func(s *redisstore.Store, k store.Key) string {
			v, err := s.Claim(within(t, ample), request(k, own))
			v.Left = v.Left.Round(10 * time.Second)
			return outcome(v, err)
		},
		"last claim": func(s *redisstore.Store, k store.Key) string {
			r := request(k, own)
			r.MaxAttempts, r.ParkKeep = 2, time.Minute
			v, err := s.Claim(within(t, ample), r)
			v.Left = v.Left.Round(10 * time.Second)
			return outcome(v, err)
		},
		"complete": func(s *redisstore.Store, k store.Key) string {
			c, err := s.Complete(within(t, ample), k, own, time.Hour)
			return outcome(c, err)
		},
	}
	for name, call := range calls {
		for _, value := range values {
			for _, lives := range []time.Duration{0, 40 * time.Second} {
				if name != "complete" && strings.HasPrefix(value, "D|") && lives == 0 {
					continue // the fast path answers done without looking at the expiry
				}
				got, want := p.try(t, p.fast, value, lives, call), p.try(t, p.scripts, value, lives, call)
				if got != want {
					t.Errorf("%s on %q that lives for %v: got %+v, want %+v", name, value, lives, got, want)
				}
			}
		}
	}
}

// between is a hook that does something after the first SET with GET and before
// what follows it.
type between struct {
	meddler
	do func()
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "set" && b.do != nil {
			do := b.do
			b.do = nil
			do()
		}
		return err
	}
}

func TestTheLongerKeepStaysWhateverComesBetween(t *testing.T) {
	t.Parallel()
	observer := open(t, shared(t))
	for _, c := range []struct {
		name    string
		between func(k store.Key)
		state   store.State
		lives   time.Duration
	}{
		{"nothing", func(store.Key) {}, store.Done, 10 * time.Hour},
		{"another complete", func(k store.Key) {
			if _, err := observer.Complete(t.Context(), k, store.NewToken(), time.Hour); err != nil {
				t.Error(err)
			}
		}, store.Done, 10 * time.Hour},
		{"a longer complete", func(k store.Key) {
			if _, err := observer.Complete(t.Context(), k, store.NewToken(), 20*time.Hour); err != nil {
				t.Error(err)
			}
		}, store.Done, 20 * time.Hour},
		{"the end of the shorter keep", func(k store.Key) {
			shared(t).Del(t.Context(), recordName(k))
		}, store.Done, 10 * time.Hour},
		{"a later owner", func(k store.Key) {
			shared(t).Del(t.Context(), recordName(k))
			claims(t, observer, request(k, store.NewToken()), 1)
		}, store.Busy, time.Hour + time.Minute},
		{"a later owner that has parked the key", func(k store.Key) {
			shared(t).Del(t.Context(), recordName(k))
			a := store.NewToken()
			claims(t, observer, request(k, a), 1)
			if err := observer.Park(t.Context(), k, a, time.Hour); err != nil {
				t.Error(err)
			}
		}, store.Parked, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := shared(t)
			s, k := open(t, client), newKey()
			if _, err := s.Complete(within(t, ample), k, store.NewToken(), 10*time.Hour); err != nil {
				t.Fatal(err)
			}
			hook := &between{meddler: meddler{answer: func(redis.Cmder) (error, bool) { return nil, false }}}
			hook.do = func() { c.between(k) }
			client.AddHook(hook)
			got, err := s.Complete(within(t, ample), k, store.NewToken(), time.Minute)
			if got != store.AlreadyDone || err != nil {
				t.Errorf("complete: got %v, %v, want already done", got, err)
			}
			answers(t, s, k, c.state)
			if left := client.PTTL(t.Context(), recordName(k)).Val(); left > c.lives || left < c.lives-time.Minute/2 {
				t.Errorf("the record lives for %v, want %v", left, c.lives)
			}
		})
	}
}

// What two kinds of clients do to the same keys at random never differs from
// what one kind does: they share fleets during a roll-out.
func TestFastPathAndScriptsGoTogether(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		k, a, b := newKey(), store.NewToken(), store.NewToken()
		stores := []*redisstore.Store{p.fast, p.scripts}
		pick := func() *redisstore.Store { return stores[random.IntN(2)] }
		claims(t, pick(), request(k, a), 1)
		answers(t, pick(), k, store.Busy)
		claims(t, pick(), request(k, a), 1)
		if err := pick().Release(within(t, ample), k, a, true); err != nil {
			t.Fatal(err)
		}
		claims(t, pick(), request(k, b), 2)
		completes(t, pick(), k, b, store.Completed)
		completes(t, pick(), k, a, store.AlreadyDone)
		answers(t, pick(), k, store.Done)
	}
}
