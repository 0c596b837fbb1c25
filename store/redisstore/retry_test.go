package redisstore_test

import (
	"context"
	"errors"
	"net"
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

// around is a go-redis hook that calls after with the error of every try of a
// call on records. The greetings of a new connection pass through hooks, too.
type around struct{ after func(error) }

func onRecords(cmd redis.Cmder) bool {
	return cmd.Name() == "set" || strings.HasPrefix(cmd.Name(), "eval")
}

func (a around) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if onRecords(cmd) {
			a.after(err)
		}
		return err
	}
}

func (a around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if onRecords(cmds[0]) {
			a.after(err)
		}
		return err
	}
}

// behind returns a Store whose replies p can lose, with a connection that is
// warm, on a server that has all scripts, and the number of tries made since.
func behind(t *testing.T, change func(*redis.Options)) (*testserver.Proxy, *redisstore.Store, *atomic.Int32) {
	t.Helper()
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	client := connect(t, p.Addr(), func(o *redis.Options) {
		o.ReadTimeout = 300 * time.Millisecond
		o.PoolSize = 1 // so that the next call uses the connection that is warm
		o.PipelinePoolSize = -1
		if change != nil {
			change(o)
		}
	})
	s := open(t, client)
	if _, err := s.Inspect(within(t, ample)); err != nil { // sends every script
		t.Fatal(err)
	}
	tries := new(atomic.Int32)
	client.AddHook(around{func(error) { tries.Add(1) }})
	return p, s, tries
}

func TestALostReplyIsRepeatedAndRecognisedByItsToken(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testserver.Proxy){
		"swallowed": func(p *testserver.Proxy) { p.SwallowReplies(1) },
		"cut":       func(p *testserver.Proxy) { p.CutReplies(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, tries := behind(t, nil)
			ctx, k, a, b := within(t, ample), newKey(), store.NewToken(), store.NewToken()

			lose(p)
			claims(t, s, request(k, a), 1)
			lose(p)
			if errs := s.Renew(ctx, []store.Claim{{Key: k, Token: a}, {Key: newKey(), Token: a}}); errs[0] != nil ||
				!errors.Is(errs[1], store.ErrNotOwner) {
				t.Errorf("renew: got %v, want renewed and not owner", errs)
			}
			lose(p)
			if err := s.Release(ctx, k, a, true); err != nil {
				t.Errorf("release: %v", err)
			}
			lose(p)
			claims(t, s, request(k, b), 2)
			lose(p)
			completes(t, s, k, b, store.Completed)
			if got := tries.Load(); got < 10 { // a busy server may be too late, too
				t.Errorf("got %d tries, want 2 for each of 5 calls", got)
			}
		})
	}
}

func TestALostReplyWithoutRetriesIsUnknown(t *testing.T) {
	t.Parallel()
	p, s, tries := behind(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, 3*time.Second })
	k, a := newKey(), store.NewToken()
	p.SwallowReplies(1)
	v, err := s.Claim(within(t, ample), request(k, a))
	if v.State != 0 || store.ClassOf(err) != store.Unknown || tries.Load() != 1 {
		t.Fatalf("claim: got %+v, %v after %d tries, want an unknown outcome after one", v, err, tries.Load())
	}
	answers(t, open(t, shared(t)), k, store.Busy) // it had been applied
	claims(t, s, request(k, a), 1)
}

func TestARefusalAfterALostReplyIsUnknown(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	client := connect(t, p.Addr(), func(o *redis.Options) { o.DialerRetries = 1 })
	s := open(t, client)
	claims(t, s, request(newKey(), store.NewToken()), 1)

	client.AddHook(around{func(error) { p.Refuse(true) }})
	k := newKey()
	p.CutReplies(1)
	_, err := s.Claim(within(t, ample), request(k, store.NewToken()))
	if got := store.ClassOf(err); got != store.Unknown || !isRefused(err) {
		t.Errorf("reply lost, then refused: got %v (%v), want an unknown outcome", err, got)
	}
	answers(t, open(t, shared(t)), k, store.Busy) // it had been applied

	_, err = s.Claim(within(t, ample), request(newKey(), store.NewToken()))
	if got := store.ClassOf(err); got != store.NotApplied || !isRefused(err) {
		t.Errorf("refused from the start: got %v (%v), want not applied", err, got)
	}
}

// refusedThenSilent is a hook that answers the first try as a closed port does,
// and no other.
type refusedThenSilent struct {
	around
	tries *atomic.Int32
}

func (h refusedThenSilent) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := error(&net.OpError{Op: "dial", Err: errors.New("connection refused")})
		if h.tries.Add(1) > 1 {
			<-ctx.Done()
			err = ctx.Err()
		}
		cmd.SetErr(err)
		return err
	}
}

func TestADeadlineSaysWhatWasMetBefore(t *testing.T) {
	t.Parallel()
	client := connect(t, "127.0.0.1:1", func(o *redis.Options) { o.DialerRetries = 1 })
	client.AddHook(refusedThenSilent{around{func(error) {}}, new(atomic.Int32)})
	_, err := open(t, client).Claim(within(t, 200*time.Millisecond), request(newKey(), store.NewToken()))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want the deadline and the refusal", err)
	}
}

func isRefused(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "dial"
}

func TestAContextThatHasEndedCostsNoIO(t *testing.T) {
	t.Parallel()
	client := connect(t, "127.0.0.1:1", nil)
	client.AddHook(around{func(error) { t.Error("something was sent") }})
	s := open(t, client)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	k, a := newKey(), store.NewToken()
	for _, ctx := range []context.Context{cancelled, overdue} {
		errs := []error{}
		_, err := s.Claim(ctx, request(k, a))
		errs = append(errs, err)
		_, err = s.Complete(ctx, k, a, time.Hour)
		errs = append(errs, err, s.Release(ctx, k, a, true), s.Park(ctx, k, a, time.Hour))
		_, err = s.Fence(ctx, k, a)
		errs = append(errs, err)
		errs = append(errs, s.Renew(ctx, []store.Claim{{Key: k, Token: a}, {Key: k, Token: a}})...)
		for _, err := range errs {
			if !errors.Is(err, ctx.Err()) || store.ClassOf(err) != store.NotApplied {
				t.Errorf("got %v (%v), want %v, not applied", err, store.ClassOf(err), ctx.Err())
			}
		}
	}
}

// A black hole takes what is sent. Calls must end with their deadline whether
// the connection was there before or not.
func TestACallIntoABlackHoleEndsWithItsDeadline(t *testing.T) {
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	for name, warm := range map[string]bool{"new connection": false, "warm connection": true} {
		t.Run(name, func(t *testing.T) {
			fastestOfThree(t, func() time.Duration {
				p.Heal()
				s := open(t, connect(t, p.Addr(), patient))
				if warm {
					claims(t, s, request(newKey(), store.NewToken()), 1)
				}
				p.BlackHole(true)
				return overrun(t, s, store.NewToken())
			})
		})
	}
}

func TestEveryCallOfManyIntoABlackHoleEndsWithItsDeadline(t *testing.T) {
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	s := open(t, connect(t, p.Addr(), func(o *redis.Options) { patient(o); o.PoolSize = 100 }))
	fastestOfThree(t, func() time.Duration {
		p.Heal()
		claims(t, s, request(newKey(), store.NewToken()), 1)
		var callers sync.WaitGroup
		overruns := make([]time.Duration, 64)
		for i := range overruns {
			callers.Go(func() {
				for token := store.NewToken(); ; token = store.NewToken() {
					if overruns[i] = overrun(t, s, token); overruns[i] != 0 {
						return
					}
				}
			})
		}
		p.BlackHole(true)
		callers.Wait()
		return slices.Max(overruns)
	})
}

const deadline, blackHole = 200 * time.Millisecond, 3 * time.Second

// patient has a client wait for an answer much longer than the deadline of its calls.
func patient(o *redis.Options) { o.ReadTimeout, o.MaxRetries = blackHole, 1 }

// overrun claims a key and returns how much longer than its deadline that took,
// or 0 if the claim was granted.
func overrun(t *testing.T, s *redisstore.Store, token store.Token) time.Duration {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	from := time.Now()
	v, err := s.Claim(ctx, request(newKey(), token))
	if err == nil && v.State == store.Claimed {
		return 0
	}
	if v.State != 0 || err == nil || store.ClassOf(err) == store.Permanent {
		t.Errorf("claim: got %v, %v, want an error that permits a repeat", v, err)
	}
	return max(time.Since(from)-deadline, 1)
}

// fastestOfThree wants one of three tries to overrun its deadline by less than the
// read timeout, which else ends a call: the machine may be busy. That it is not overrun
// at all is shown where time does not depend on the machine.
func fastestOfThree(t *testing.T, try func() time.Duration) {
	t.Helper()
	const grace = blackHole - deadline - time.Second
	fastest := time.Hour
	for range 3 {
		if fastest = min(fastest, try()); fastest < grace {
			return
		}
	}
	t.Errorf("calls took at least %v longer than their deadline, want at most %v", fastest, grace)
}
