package redisstore_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

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
