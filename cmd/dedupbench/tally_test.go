package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// clock is a probe with the time alone.
func clock() mark { return mark{at: time.Now()} }

// numbered is a message of a topic as fill makes it.
func numbered(message, key int) *primitive.MessageExt {
	m := &primitive.MessageExt{}
	m.Body = body(headSize, message, key)
	m.WithKeys([]string{keyName(key)})
	return m
}

// forgetful runs only the first message of a key, without any store.
func forgetful(t *tally) listener.Callback {
	seen := map[string]bool{}
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range msgs {
			if !seen[m.GetKeys()] {
				_ = t.handle(ctx, m) // never fails
			}
			seen[m.GetKeys()] = true
		}
		return consumer.ConsumeSuccess, nil
	}
}

func deliver(t *testing.T, cb listener.Callback, msgs ...*primitive.MessageExt) {
	t.Helper()
	_, _ = cb(t.Context(), msgs...) // its answer is for the broker
}

func isOver(t *tally) bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func TestARunIsOverWhenEveryMessageWasAcknowledged(t *testing.T) {
	t.Parallel()
	count := newTally(stage{Messages: 4, Distinct: 3})
	refuse := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeRetryLater, nil
	}
	fail := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeSuccess, errors.New("no")
	}
	good := count.around(plain(count), clock)
	deliver(t, good, numbered(0, 0))
	deliver(t, good, numbered(0, 0)) // the broker delivers it again
	deliver(t, count.around(refuse, clock), numbered(1, 1), numbered(2, 2))
	deliver(t, count.around(fail, clock), numbered(3, 0))
	if isOver(count) {
		t.Error("it is over although three messages were not acknowledged")
	}
	deliver(t, good, numbered(1, 1), numbered(2, 2))
	deliver(t, good, numbered(3, 0))
	if !isOver(count) {
		t.Errorf("it is not over: %d messages are left", count.left.Load())
	}
	r := count.report()
	if *r.Messages != 4 || *r.Lost != 0 || *r.Extra != 2 || *r.Deferred != 3 {
		t.Errorf("got %d acknowledged, %d lost, %d extra, %d deferred, want 4, 0, 2, 3",
			*r.Messages, *r.Lost, *r.Extra, *r.Deferred)
	}
}

func TestKeysThatNeverRanAreLost(t *testing.T) {
	t.Parallel()
	count := newTally(stage{Messages: 3, Distinct: 3})
	skip := func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeSuccess, nil
	}
	deliver(t, count.around(skip, clock), numbered(0, 0), numbered(1, 1))
	deliver(t, count.around(plain(count), clock), numbered(2, 2))
	if r := count.report(); *r.Lost != 2 || *r.Extra != 0 {
		t.Errorf("got %d lost, %d extra, want 2, 0", *r.Lost, *r.Extra)
	}
}

func TestForeignMessagesAreCountedApart(t *testing.T) {
	t.Parallel()
	count := newTally(stage{Messages: 1, Distinct: 1})
	cb := count.around(plain(count), clock)
	deliver(t, cb, &primitive.MessageExt{})
	deliver(t, cb, numbered(1, 1))
	if got := count.foreign.Load(); got != 4 || count.left.Load() != 1 { // each is met twice
		t.Errorf("got %d foreign and %d left, want 4 and 1", got, count.left.Load())
	}
}

func TestAddedTimeIsThatWithoutUserCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := newTally(stage{Messages: 3, Distinct: 3, Work: time.Millisecond})
		inner := func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			time.Sleep(3 * time.Millisecond) // before
			ends := make(chan error)
			for i, m := range msgs { // each begins before the last one ends
				go func() {
					time.Sleep(time.Duration(i) * time.Millisecond / 2)
					ends <- count.handle(ctx, m)
				}()
			}
			for range msgs {
				<-ends
			}
			time.Sleep(2 * time.Millisecond) // after
			return consumer.ConsumeSuccess, nil
		}
		deliver(t, count.around(inner, clock), numbered(0, 0), numbered(1, 1), numbered(2, 2))
		r := count.report()
		if *r.P50 != 5000 || *r.P99 != 5000 {
			t.Errorf("got %v and %v µs added, want 5000", *r.P50, *r.P99)
		}
		if *r.Seconds != 0.007 { // 3 before, 2 of user code, 2 after
			t.Errorf("got a window of %v s, want 0.007", *r.Seconds)
		}
	})
}

func TestOfferedRateIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages, rate = 100, 1000
		count := newTally(stage{Messages: messages, Distinct: messages, Rate: rate})
		cb := count.around(plain(count), clock)
		next := make(chan int)
		for range 4 {
			go func() {
				for n := range next {
					deliver(t, cb, numbered(n, n), numbered(n+1, n+1))
				}
			}()
		}
		for n := 0; n < messages; n += 2 {
			next <- n
		}
		close(next)
		<-count.done
		if got, want := *count.report().Seconds, 0.098; got != want { // the last two of a hundred begin then
			t.Errorf("got %v s, want %v", got, want)
		}
	})
}

func TestContendersThatSkipCopiesRunEachKeyOnce(t *testing.T) {
	t.Parallel()
	count := newTally(stage{Messages: 100, Distinct: 80})
	cb := count.around(forgetful(count), clock)
	keys, _ := sequence(100, 20)
	for message, key := range keys {
		deliver(t, cb, numbered(message, key))
	}
	r := count.report()
	if !isOver(count) || *r.Lost != 0 || *r.Extra != 0 {
		t.Errorf("got %d left, %d lost, %d extra, want none", count.left.Load(), *r.Lost, *r.Extra)
	}
}
