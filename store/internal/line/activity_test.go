package line_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
)

func TestWaitIsForAllThatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a line.Activity
		if err := a.Wait(t.Context()); err != nil {
			t.Errorf("at rest: got %v", err)
		}
		began := time.Now()
		a.Go(func() {
			time.Sleep(time.Second)
			a.Go(func() { time.Sleep(time.Second) })
		})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := a.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside an activity: got %v, want the end of the context", err)
		}
		if err := a.Wait(t.Context()); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("got %v after %v, want the end of both after 2s", err, time.Since(began))
		}
	})
}
