package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// meddler is a hook that may answer a command in the server's place.
type meddler struct {
	around
	answer func(redis.Cmder) (err error, answered bool)
}

func (m meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err, answered := m.answer(cmd); answered {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (m meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		passed := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool {
			err, answered := m.answer(cmd)
			if answered {
				cmd.SetErr(err)
			}
			return answered
		})
		if len(passed) == 0 {
			return nil
		}
		return next(ctx, passed)
	}
}

// isFastClaim tells SET with NX and GET from every other command.
func isFastClaim(cmd redis.Cmder) bool {
	return cmd.Name() == "set" && slices.Contains(cmd.Args(), any("nx"))
}

// beforeSeven has the server behind client refuse the fast path as one before
// Redis 7.0 does.
func beforeSeven(client redis.UniversalClient) {
	client.AddHook(meddler{answer: func(cmd redis.Cmder) (error, bool) {
		return answer("ERR syntax error"), isFastClaim(cmd)
	}})
}

// recorder notes the names of the commands on records.
type recorder struct {
	mu    sync.Mutex
	names []string // guarded by mu
}

func (r *recorder) hook() meddler {
	return meddler{answer: func(cmd redis.Cmder) (error, bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if onRecords(cmd) {
			r.names = append(r.names, cmd.Name())
		}
		return nil, false
	}}
}

// took returns the names noted since the last time.
func (r *recorder) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := strings.Join(r.names, " ")
	r.names = nil
	return names
}

func wantCommands(t *testing.T, r *recorder, what, want string) {
	t.Helper()
	if got := r.took(); got != want {
		t.Errorf("%s took the commands %q, want %q", what, got, want)
	}
}

func TestWhatIsPlainTakesNoScript(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s := open(t, client)
	if _, err := s.Inspect(within(t, ample)); err != nil { // sends every script, and tries the fast path
		t.Fatal(err)
	}
	r := &recorder{}
	client.AddHook(r.hook())
	k, a, b := newKey(), store.NewToken(), store.NewToken()

	claims(t, s, request(k, a), 1)
	wantCommands(t, r, "a claim on a free key", "set")
	answers(t, s, k, store.Busy)
	wantCommands(t, r, "a claim on a live key", "set evalsha")
	claims(t, s, request(k, a), 1)
	wantCommands(t, r, "a repeated claim", "set evalsha")
	completes(t, s, k, a, store.Completed)
	wantCommands(t, r, "a complete", "set")
	answers(t, s, k, store.Done)
	wantCommands(t, r, "a claim on a done key", "set")
	completes(t, s, k, b, store.AlreadyDone)
	wantCommands(t, r, "a second complete", "set")
	if _, err := s.Complete(within(t, ample), k, a, time.Minute); err != nil {
		t.Fatal(err)
	}
	wantCommands(t, r, "a complete that meets a longer keep", "set evalsha")

	requests := batch(3)
	requests[1].Key = k
	s.ClaimBatch(within(t, ample), requests)
	wantCommands(t, r, "a batch of plain claims", "set set set")
	requests = append(batch(1), requests[0], requests[2])
	s.ClaimBatch(within(t, ample), requests)
	wantCommands(t, r, "a batch of which two are not plain", "set set set evalsha evalsha")
}

func TestTheFastPathIsTriedOnceInOneRoundTrip(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t).Addr(), nil)
	s := open(t, client)
	claims(t, open(t, client), request(newKey(), store.NewToken()), 1) // connects
	n := trips(client)
	for i := range int64(5) {
		claims(t, s, request(newKey(), store.NewToken()), 1)
		if got, want := n.Load(), 2+i; got != want {
			t.Fatalf("claim %d: got %d round trips, want %d", i+1, got, want)
		}
	}
}

func TestAServerThatRefusesTheFastPathGetsScripts(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]meddler{
		"before Redis 7.0": {answer: func(cmd redis.Cmder) (error, bool) {
			return answer("ERR syntax error"), isFastClaim(cmd)
		}},
		"NX that does not hold": {answer: func(cmd redis.Cmder) (error, bool) {
			return redis.Nil, isFastClaim(cmd)
		}},
		"SET that answers OK": {answer: func(cmd redis.Cmder) (error, bool) {
			if cmd, ok := cmd.(interface{ SetVal(string) }); ok {
				cmd.SetVal("OK")
			}
			return nil, isFastClaim(cmd)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := shared(t)
			client.AddHook(hook)
			s, r, k := open(t, client), &recorder{}, newKey()
			claims(t, s, request(k, store.NewToken()), 1)
			client.AddHook(r.hook())
			answers(t, s, k, store.Busy)
			if got := r.took(); strings.Contains(got, "set") {
				t.Errorf("a claim took the commands %q, want no SET", got)
			}
			findings, err := s.Inspect(within(t, ample))
			if err != nil || !hasFinding(findings, "SET with NX and GET", true) {
				t.Errorf("inspect: got %v, %v, want advice about SET", findings, err)
			}
		})
	}
}

func TestANodeThatRefusesTheFastPathLaterGetsScripts(t *testing.T) {
	t.Parallel()
	client := shared(t)
	s, r, k := open(t, client), &recorder{}, newKey()
	claims(t, s, request(newKey(), store.NewToken()), 1)
	client.AddHook(r.hook())
	beforeSeven(client) // a fail-over to an older server
	claims(t, s, request(k, store.NewToken()), 1)
	if got := r.took(); !strings.HasPrefix(got, "set eval") {
		t.Errorf("the claim that was refused took the commands %q, want SET and then a script", got)
	}
	answers(t, s, k, store.Busy)
	if got := r.took(); strings.Contains(got, "set") {
		t.Errorf("the next claim took the commands %q, want no SET", got)
	}
}

func TestAServerThatDoesNotTellIsAskedAgain(t *testing.T) {
	t.Parallel()
	client := shared(t)
	var loading atomic.Bool
	loading.Store(true)
	client.AddHook(meddler{answer: func(cmd redis.Cmder) (error, bool) {
		return answer("LOADING Redis is loading the dataset in memory"), loading.Load() && onRecords(cmd)
	}})
	s := open(t, client)
	_, err := s.Claim(within(t, ample), request(newKey(), store.NewToken()))
	wantFailure(t, err, store.NotApplied, "LOADING")
	loading.Store(false)
	claims(t, s, request(newKey(), store.NewToken()), 1)
	r := &recorder{}
	client.AddHook(r.hook())
	claims(t, s, request(newKey(), store.NewToken()), 1)
	wantCommands(t, r, "a claim on a free key", "set")
}

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
