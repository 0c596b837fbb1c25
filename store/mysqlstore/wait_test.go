package mysqlstore_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// It looks at the goroutines of all stores, so it does not run beside others.
func TestNoGoroutineIsLeftAfterWait(t *testing.T) {
	proxy := testserver.NewProxy(t, storetest.Server(t, "DEDUP_TEST_MARIADB"))
	s := migrated(t, pool(t, proxy.Addr(), ""), mysqlstore.Options{})
	proxy.BlackHole(true)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			if _, err := s.Claim(ctx, request(newKey(), store.NewToken())); err == nil {
				t.Error("a claim that nobody answers: got no error")
			}
		})
	}
	all.Wait()
	began := time.Now()
	if err := s.Wait(within(t, ample)); err != nil {
		t.Fatalf("wait: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("wait took %v, want about a second", took)
	}
	if left := sending(); left != "" {
		t.Errorf("after Wait there is\n%s", left)
	}
	proxy.Heal()
	proxy.Cut() // what was made meanwhile stays dead
	if err := claimAndComplete(s, newKey()); err != nil {
		t.Errorf("after it all: %v", err)
	}
}

// sending is the stack of a goroutine that sends calls of a store, if there is one.
func sending() string {
	text := make([]byte, 4<<20)
	text = text[:runtime.Stack(text, true)]
	for stack := range strings.SplitSeq(string(text), "\n\n") {
		if strings.Contains(stack, "mysqlstore.(*Store).exchange") {
			return stack
		}
	}
	return ""
}

func TestWaitIsForGroupsWhoseCallersHaveGone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		if err := s.Wait(within(t, ample)); err != nil {
			t.Errorf("wait for nothing: %v", err)
		}
		// One call waits for a row alone, others that come meanwhile in a group.
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		var all sync.WaitGroup
		keys := newKeys(4)
		for _, k := range keys {
			claims(t, s, request(k, store.NewToken()), 1)
			locked(t, db, s, k)
		}
		for _, k := range keys {
			all.Go(func() { _, _ = s.Complete(ctx, k, store.NewToken(), time.Hour) })
		}
		var waited error
		for began := time.Now(); waited == nil && time.Since(began) < ample; {
			brief, stop := context.WithTimeout(context.Background(), time.Millisecond)
			waited = s.Wait(brief)
			stop()
		}
		if !errors.Is(waited, context.DeadlineExceeded) {
			t.Errorf("wait beside a group that waits for a row: got %v, want %v", waited, context.DeadlineExceeded)
		}
		leave()
		all.Wait()
		if err := s.Wait(within(t, ample)); err != nil {
			t.Errorf("wait: %v", err)
		}
	})
}
