package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

func TestOnlyTheLatestKeysAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memory(t), newWorld()
		for _, id := range ids(100) {
			abandon(t, s, id)
			w.answer(id, reconcile.NotHappened)
		}
		r := reconciler(t, s, w, reconcile.Options{Batch: 1, PerPass: 100, RetryAgain: 1})
		r.Remember(10)
		for range 2 {
			time.Sleep(time.Hour)
			if got := passed(t, r); got.Retried != 100 || r.Notes() > 20 {
				t.Errorf("got %+v and %d notes, want 100 retries and at most 20 notes", got, r.Notes())
			}
		}
		r.Remember(100)
		for _, want := range []int64{100, 0, 0} {
			time.Sleep(time.Hour)
			if got := passed(t, r); got.Retried != want || got.GivenUp != 100-want || r.Notes() != 100 {
				t.Errorf("got %+v and %d notes, want %d retries and 100 notes", got, r.Notes(), want)
			}
		}
	})
}
