package rmqtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestOffsetsAreThoseOfTheQueue(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	if got := code(t, b, rmqtest.QueryOffset, about()); got != 22 {
		t.Errorf("a new group on an empty queue: got code %d, want 22", got)
	}
	produce(t, b, 5)
	for r, want := range map[rmqtest.Request]int64{rmqtest.MinOffset: 0, rmqtest.MaxOffset: 5, rmqtest.QueryOffset: 0} {
		if got := offset(t, b, r); got != want {
			t.Errorf("request %d: got %d, want %d", r, got, want)
		}
	}
	if got := code(t, b, rmqtest.UpdateOffset, about("commitOffset", "3")); got != 0 {
		t.Fatalf("update: got code %d", got)
	}
	if got := offset(t, b, rmqtest.QueryOffset); got != 3 {
		t.Errorf("got %d, want the committed 3", got)
	}
	if got := b.Lag("billing"); got != 2 {
		t.Errorf("got a lag of %d, want 2", got)
	}
	b.ForgetOffsets("billing")
	if got := offset(t, b, rmqtest.QueryOffset); got != 0 {
		t.Errorf("got %d, want the forgotten 0", got)
	}
}

func TestOffsetsAreFoundByTime(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	produce(t, b, 2)
	between := time.Now().UnixMilli() + 1
	eventually(t, "the next millisecond", func() bool { return time.Now().UnixMilli() >= between })
	produce(t, b, 2)
	later := time.Now().Add(time.Hour).UnixMilli()
	for at, want := range map[int64]int64{0: 0, between: 2, later: 4} {
		if got := offset(t, b, rmqtest.SearchOffset, "timestamp", fmt.Sprint(at)); got != want {
			t.Errorf("at %d: got %d, want %d", at, got, want)
		}
	}
}

func TestConsumerStartsAtTheCommittedOffset(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	produce(t, b, 5)
	if got := code(t, b, rmqtest.UpdateOffset, about("commitOffset", "3")); got != 0 {
		t.Fatalf("update: got code %d", got)
	}
	in := newInbox()
	consume(t, b, "billing", "orders", in.accept)
	if got := keysOf(in.take(t, 2)); got["A-3"] != 1 || got["A-4"] != 1 {
		t.Errorf("got %v, want A-3 and A-4", got)
	}
}
