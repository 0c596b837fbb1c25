package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// breaking breaks what passes p, every few milliseconds until the test ends:
// replies and requests in the middle of a pipeline, whole replies, connections.
func breaking(t *testing.T, p *testserver.Proxy, pause time.Duration) {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		random := rand.New(rand.NewPCG(1, 1))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.Int64N(int64(pause)))):
			}
			switch random.IntN(8) {
			case 0, 1, 2:
				p.BreakReplies(1)
			case 3, 4:
				p.BreakRequests(1)
			case 5:
				p.CutReplies(1)
			case 6:
				p.Cut()
			case 7:
				p.Delay(time.Duration(random.IntN(int(2 * time.Millisecond))))
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		ended.Wait()
	})
}

func TestNothingIsDoubledByPipelinesThatBreak(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	client := connect(t, p.Addr(), func(o *redis.Options) {
		o.MinRetryBackoff, o.MaxRetryBackoff = time.Millisecond, 4*time.Millisecond
	})
	s := open(t, client)
	claims(t, s, request(newKey(), store.NewToken()), 1) // tries the fast path
	breaking(t, p, 10*time.Millisecond)
	var broken atomic.Int64
	client.AddHook(around{func(err error) {
		if err != nil && !isAnswer(err) {
			broken.Add(1)
		}
	}})
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for broken.Load() < 100 {
				runsOnce(t, s, newKey(), store.NewToken())
			}
		})
	}
	callers.Wait()
}

func isAnswer(err error) bool {
	var e redis.Error
	return errors.As(err, &e)
}

// runsOnce claims and completes, and repeats both until they are answered. A
// command that was sent twice would show as a second attempt, as a key that is
// busy, or as a completion of somebody else's.
func runsOnce(t *testing.T, s *redisstore.Store, k store.Key, token store.Token) {
	for {
		v, err := s.Claim(within(t, ample), request(k, token))
		if err == nil && v == (store.Verdict{State: store.Claimed, Attempt: 1}) {
			break
		}
		if err == nil || store.ClassOf(err) == store.Permanent {
			t.Errorf("claim: got %+v, %v, want claimed attempt 1", v, err)
			return
		}
	}
	for {
		c, err := s.Complete(within(t, ample), k, token, time.Hour)
		if err == nil && c == store.Completed {
			return
		}
		if err == nil || store.ClassOf(err) == store.Permanent {
			t.Errorf("complete: got %v, %v, want completed", c, err)
			return
		}
	}
}

// impatient is a Store whose callers wait for a few milliseconds only, and whose
// failures are told in the words of the suite: what may have been applied is a
// lost reply.
type impatient struct{ *redisstore.Store }

func (s impatient) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	ctx, cancel := briefly(ctx)
	defer cancel()
	v, err := s.Store.Claim(ctx, r)
	return v, inWords(err)
}

func (s impatient) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (store.Completion, error) {
	ctx, cancel := briefly(ctx)
	defer cancel()
	c, err := s.Store.Complete(ctx, k, t, keep)
	return c, inWords(err)
}

func (s impatient) Release(ctx context.Context, k store.Key, t store.Token, ran bool) error {
	ctx, cancel := briefly(ctx)
	defer cancel()
	return inWords(s.Store.Release(ctx, k, t, ran))
}

func (s impatient) Renew(ctx context.Context, claims []store.Claim) []error {
	ctx, cancel := briefly(ctx)
	defer cancel()
	errs := s.Store.Renew(ctx, claims)
	for i, err := range errs {
		errs[i] = inWords(err)
	}
	return errs
}

func briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Millisecond+rand.N(5*time.Millisecond))
}

func inWords(err error) error {
	if err == nil || errors.Is(err, store.ErrNotOwner) {
		return err
	}
	switch store.ClassOf(err) {
	case store.NotApplied:
		return errors.Join(storetest.ErrCutBefore, err)
	case store.Unknown:
		return errors.Join(storetest.ErrCutAfter, err)
	}
	return err
}

// Calls that break in the middle of a pipeline, and calls whose callers leave
// them on the wire, must still look as if they had happened one after the other.
func TestHistoriesOverBrokenPipelines(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, shared(t).Options().Addr)
	s := open(t, connect(t, p.Addr(), func(o *redis.Options) { o.MaxRetries = -1 }))
	claims(t, s, request(newKey(), store.NewToken()), 1) // tries the fast path
	breaking(t, p, 4*time.Millisecond)
	judged := 0
	for _, c := range storetest.Cases() {
		if !strings.Contains(c.Name, "look as if they had happened") {
			continue
		}
		for range 5 {
			judged++
			if err := c.Judge(t, storetest.Harness{New: func(testing.TB) store.Store { return impatient{s} }}); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	if judged == 0 {
		t.Error("the suite has no case of this name")
	}
	if err := s.Wait(within(t, ample)); err != nil {
		t.Errorf("calls that were left: %v", err)
	}
}

func TestNoClaimOutlivesItsLeaseOnceTheServerAnswersAgain(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	client := connect(t, server.Addr(), func(o *redis.Options) { o.ReadTimeout = 500 * time.Millisecond })
	s := open(t, client)
	claims(t, s, request(newKey(), store.NewToken()), 1)
	const lease = time.Second
	keys := make([]store.Key, 64)
	var callers sync.WaitGroup
	server.Pause()
	for i := range keys {
		keys[i] = newKey()
		callers.Go(func() {
			r := request(keys[i], store.NewToken())
			r.Lease = lease
			if _, err := s.Claim(within(t, 200*time.Millisecond), r); err == nil {
				t.Error("a frozen server has granted a claim")
			}
			_ = s.Release(within(t, 50*time.Millisecond), r.Key, r.Token, false) // nobody answers
		})
	}
	callers.Wait()
	server.Resume()
	resumed, held := time.Now(), 0
	for _, k := range keys {
		for tries := 0; ; tries++ {
			v, err := s.Claim(within(t, ample), request(k, store.NewToken()))
			if err != nil {
				t.Fatal(err)
			}
			if v.State == store.Claimed {
				break
			}
			if tries == 0 {
				held++
			}
			if passed := time.Since(resumed); passed > 10*lease {
				t.Fatalf("%v after the server was back a key is still %v", passed, v.State)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	t.Logf("%d of %d claims were held until their lease was over", held, len(keys))
}
