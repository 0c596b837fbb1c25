package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// ready returns a Store over p that has a connection and has tried the fast path.
func ready(t *testing.T, p *puppet, o redisstore.Options) (*redisstore.Store, *redis.Client) {
	t.Helper()
	client := p.client(t)
	o.Prefix = prefix
	s, err := redisstore.New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	claims(t, s, request(newKey(), store.NewToken()), 1)
	p.took()
	return s, client
}

// claimed is what became of a claim, and when.
type claimed struct {
	key   store.Key
	token store.Token
	state store.State
	err   error
	took  time.Duration
}

// claimsAtOnce makes n claims with the same deadline and returns when nothing
// can happen any more without a reply. Its result waits for them to end.
func claimsAtOnce(s *redisstore.Store, n int, deadline time.Duration) (ended func() []claimed) {
	all := make([]claimed, n)
	var claiming sync.WaitGroup
	for i := range all {
		all[i].key, all[i].token = newKey(), store.NewToken()
		claiming.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			began := time.Now()
			v, err := s.Claim(ctx, request(all[i].key, all[i].token))
			all[i].state, all[i].err, all[i].took = v.State, err, time.Since(began)
		})
		synctest.Wait()
	}
	return func() []claimed {
		claiming.Wait()
		return all
	}
}

func wantAll(t *testing.T, all []claimed, want store.State) {
	t.Helper()
	for i, c := range all {
		if c.state != want || c.err != nil {
			t.Errorf("claim %d: got %v, %v, want %v", i, c.state, c.err, want)
		}
	}
}

func TestCallsThatMeetTravelTogether(t *testing.T) {
	for name, c := range map[string]struct {
		options redisstore.Options
		trips   int64
	}{
		"by default":         {redisstore.Options{}, 3}, // the first by itself, then enough, then all the others
		"without pipelining": {redisstore.Options{NoPipelining: true}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPuppet()
				s, client := ready(t, p, c.options)
				n := trips(client)
				p.freeze(2)
				ended := claimsAtOnce(s, 50, ample)
				p.thaw()
				wantAll(t, ended(), store.Claimed)
				if got := n.Load(); got != c.trips {
					t.Errorf("50 claims took %d round trips, want %d", got, c.trips)
				}
			})
		})
	}
}

func TestALoneCallGoesByItselfUnderItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type mark struct{}
		s, client := ready(t, newPuppet(), redisstore.Options{})
		var seen any
		client.AddHook(contexts{func(ctx context.Context) { seen = ctx.Value(mark{}) }})
		ctx := context.WithValue(t.Context(), mark{}, "the caller's")
		if _, err := s.Claim(ctx, request(newKey(), store.NewToken())); err != nil || seen != "the caller's" {
			t.Errorf("a hook saw the value %v, %v, want the caller's", seen, err)
		}
	})
}

// contexts is a hook that looks at the context of single commands.
type contexts struct{ look func(context.Context) }

func (contexts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h contexts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.look(ctx)
		return next(ctx, cmd)
	}
}

func (contexts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestEveryCallEndsAtItsDeadlineWhileTheServerIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(1000)
		const deadline = 300 * time.Millisecond
		for i, c := range claimsAtOnce(s, 100, deadline)() {
			if c.took != deadline || c.state != 0 || store.ClassOf(c.err) == store.Permanent {
				t.Errorf("claim %d: got %v, %v after %v, want an error after %v", i, c.state, c.err, c.took, deadline)
			}
		}
	})
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(1)
		first := claimsAtOnce(s, 1, ample)
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Millisecond, cancel)
		_, err := s.Claim(ctx, request(newKey(), store.NewToken()))
		wantFailure(t, err, store.NotApplied, "canceled")
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("claim: took %v, want 1ms", took)
		}
		p.thaw()
		wantAll(t, first(), store.Claimed)
	})
}

func TestACallWhoseCallerHasGoneIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(1)
		first := claimsAtOnce(s, 1, ample)
		gone := claimsAtOnce(s, 3, 5*time.Millisecond)()
		last := claimsAtOnce(s, 1, ample)
		p.thaw()
		wantAll(t, append(first(), last()...), store.Claimed)
		for _, c := range gone {
			wantFailure(t, c.err, store.NotApplied, "deadline")
		}
		if took := p.took(); len(took) != 2 {
			t.Errorf("the server was sent %q, want two claims", took)
		}
	})
}

func TestWhatIsOverdueHoldsUpNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(2)
		stuck := claimsAtOnce(s, 5, ample) // one by itself, then four together, each on a frozen connection
		time.Sleep(30 * time.Millisecond)
		after := claimsAtOnce(s, 1, ample)()
		wantAll(t, after, store.Claimed)
		if after[0].took > 20*time.Millisecond {
			t.Errorf("a claim behind frozen connections took %v, want no more than 20ms", after[0].took)
		}
		p.thaw()
		wantAll(t, stuck(), store.Claimed)
	})
}

func TestAFrozenServerDoesNotGetEverMoreConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(1000)
		for range 30 { // within one ReadTimeout
			ended := claimsAtOnce(s, 10, 25*time.Millisecond)
			ended()
		}
		if p.dials > 12 {
			t.Errorf("got %d connections, want a dozen at most", p.dials)
		}
		p.thaw()
		wantAll(t, claimsAtOnce(s, 10, ample)(), store.Claimed)
	})
}

func TestNothingGoesOnAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		if err := s.Wait(t.Context()); err != nil {
			t.Errorf("wait at rest: got %v", err)
		}
		p.freeze(1000)
		claimsAtOnce(s, 20, 100*time.Millisecond)()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Wait(short); err != context.DeadlineExceeded {
			t.Errorf("wait while calls are on the wire: got %v, want the end of its context", err)
		}
		began := time.Now()
		if err := s.Wait(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("got %v after %v, want an end within ReadTimeout", err, time.Since(began))
		}
	})
}

func TestAGroupEndsAlthoughItGetsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, _ := ready(t, p, redisstore.Options{})
		p.freeze(1000)
		p.leave()
		claimsAtOnce(s, 20, 1500*time.Millisecond)()
		began := time.Now()
		if err := s.Wait(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("got %v after %v, want an end soon after the deadlines", err, time.Since(began))
		}
	})
}

func TestAClosedClientEndsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s, client := ready(t, p, redisstore.Options{})
		p.freeze(1000)
		ended := claimsAtOnce(s, 20, 10*time.Second)
		client.Close()
		for i, c := range ended() {
			if c.err == nil || c.took > 5*time.Second {
				t.Errorf("claim %d: got %v, %v after %v, want an error", i, c.state, c.err, c.took)
			}
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
