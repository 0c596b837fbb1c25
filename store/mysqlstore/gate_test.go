package mysqlstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

func TestAFewBatchesGoAtATimeAndTheNextFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		enter := mysqlstore.NewGate()
		var inside atomic.Int32
		var all sync.WaitGroup
		began := time.Now()
		for range 3 * mysqlstore.Batches {
			all.Go(func() {
				leave, err := enter(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > mysqlstore.Batches {
					t.Errorf("got %d on their way, want at most %d", n, mysqlstore.Batches)
				}
				time.Sleep(mysqlstore.Overdue / 2)
				inside.Add(-1)
				leave()
			})
		}
		all.Wait()
		if got, want := time.Since(began), 3*mysqlstore.Overdue/2; got != want {
			t.Errorf("all were back after %v, want three turns: %v", got, want)
		}
	})
}

func TestABatchThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		enter := mysqlstore.NewGate()
		var late []func()
		for range mysqlstore.Batches {
			leave, err := enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			late = append(late, leave)
		}
		ended, cancel := context.WithTimeout(t.Context(), mysqlstore.Overdue/2)
		defer cancel()
		if _, err := enter(ended); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v while all places were taken, want the deadline", err)
		}
		for range 2 { // the places are given back once, although those who had them leave, too
			var leaves []func()
			began := time.Now()
			for range mysqlstore.Batches {
				leave, err := enter(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				leaves = append(leaves, leave)
			}
			if took := time.Since(began); took > mysqlstore.Overdue/2 {
				t.Errorf("waited %v, want until the others are overdue", took)
			}
			for _, leave := range append(leaves, late...) {
				leave()
			}
			late = nil
		}
	})
}
