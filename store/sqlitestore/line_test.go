package sqlitestore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestACallThatLeavesWhileTheFileIsLockedIsNeverApplied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{BusyTimeout: time.Minute})
	unlock := lock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var stays sync.WaitGroup
	stays.Go(func() { claim(t, s, "stays", store.Claimed) })
	_, err := s.Claim(ctx, request("leaves"))
	if store.ClassOf(err) != store.NotApplied || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline and class not applied", err)
	}
	unlock()
	stays.Wait()
	if _, err := s.Get(t.Context(), request("leaves").Key); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("get: got %v, want no record", err)
	}
	claim(t, s, "stays", store.Busy)
}

func TestACallWaitsForTheLockNoLongerThanBusyTimeout(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{BusyTimeout: 20 * time.Millisecond})
	unlock := lock(t, path)
	_, err := s.Claim(t.Context(), request("1"))
	if store.ClassOf(err) != store.NotApplied || !strings.Contains(err.Error(), "locked") {
		t.Errorf("got %v, want class not applied and the cause", err)
	}
	unlock()
	claim(t, s, "1", store.Claimed)
}

func TestACallThatLeavesWhileItIsAppliedHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	entered, goOn := make(chan struct{}), make(chan struct{})
	sqlite.MustRegisterScalarFunction("wait_for_the_test", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			close(entered)
			<-goOn
			return int64(0), nil
		})
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{})
	execute(t, connect(t, path), `CREATE TRIGGER slow BEFORE INSERT ON dedup_record BEGIN SELECT wait_for_the_test(); END`)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-entered
		leave()
	}()
	r := request("slow")
	v, err := s.Claim(ctx, r)
	if store.ClassOf(err) != store.Unknown || !errors.Is(err, context.Canceled) || v.State != 0 {
		t.Errorf("got %v, %v; want the end of the context and class outcome unknown", v, err)
	}
	close(goOn)
	if v, err := s.Claim(t.Context(), r); v.State != store.Claimed || v.Attempt != 1 {
		t.Errorf("the repeat: got %v, %v, want attempt 1", v, err)
	}
	claim(t, s, "slow", store.Busy)
}

func TestACallThatFailsDoesNotFailItsNeighbours(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s := open(t, path, sqlitestore.Options{BusyTimeout: time.Minute})
	execute(t, connect(t, path), `CREATE TRIGGER bad BEFORE INSERT ON dedup_record WHEN NEW.tag = CAST('bad' AS BLOB) BEGIN
		SELECT RAISE(ABORT, 'none of those');
	END`)
	unlock := lock(t, path) // so that they gather
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r := request(strconv.Itoa(i))
			if i%5 == 0 {
				r.Key.Tag = "bad"
			}
			v, err := s.Claim(t.Context(), r)
			switch {
			case i%5 != 0:
				if v.State != store.Claimed {
					t.Errorf("a good claim among bad ones: got %v, %v", v, err)
				}
			case store.ClassOf(err) != store.Permanent || v.State != 0 || !strings.Contains(err.Error(), "none of those"):
				t.Errorf("a bad claim: got %v, %v, want a permanent error with the cause", v, err)
			}
		})
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	all.Wait()
	for i := range 20 {
		if i%5 != 0 {
			claim(t, s, strconv.Itoa(i), store.Busy)
		}
	}
}

func TestCloseWaitsForTheCallsBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{BusyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, path)
	errs := make(chan error)
	for i := range 4 {
		go func() {
			_, err := s.Claim(context.Background(), request(strconv.Itoa(i)))
			errs <- err
		}()
	}
	time.AfterFunc(20*time.Millisecond, unlock)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 3 { // before close or after it, but never half way
		if err := <-errs; err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
}

func TestNoKeyOfManyCallersIsLostOrMixedUp(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "dedup.db"), sqlitestore.Options{})
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for j := range 20 {
				r := request(strconv.Itoa(i) + "/" + strconv.Itoa(j))
				v, err := s.Claim(t.Context(), r)
				if v.State != store.Claimed || v.Attempt != 1 {
					t.Errorf("got %v, %v", v, err)
				}
				if got, err := s.Complete(t.Context(), r.Key, r.Token, keepTime); got != store.Completed {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}
