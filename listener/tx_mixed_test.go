package listener_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// While a fleet changes over to transactions, some of its members claim and some
// transact. A member that claims and dies leaves no more than its claim.
func TestAClaimOfAMemberThatDiedIsWaitedForByTransactions(t *testing.T) {
	t.Parallel()
	s, records := openShop(t)
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	died := store.ClaimRequest{
		Key: store.Key{Application: "shop", Topic: "orders", ID: "a"}, Token: store.NewToken(),
		Lease: lease, Horizon: time.Hour,
	}
	if v, err := records.Claim(t.Context(), died); err != nil || v.State != store.Claimed {
		t.Fatalf("got %v, %v, want the claim", v, err)
	}
	cb := l.Tx(s.order)
	booked := func() int { return s.number("SELECT COUNT(*) FROM " + s.orders) }
	if result, _ := consume(t, cb, orderMessage("a")); result != retry || booked() != 0 {
		t.Errorf("got %v and %d orders beside a claim that holds, want the message back", result, booked())
	}
	for range 2 { // the second is a copy
		deliverUntilDone(t, cb, orderMessage("a"))
		if got, sold := booked(), s.sold(); got != 1 || sold != 1 {
			t.Errorf("acknowledged with %d orders and %d items sold, want one of each", got, sold)
		}
	}
}

func TestMembersThatClaimAndMembersThatTransactSkipWhatTheOthersDid(t *testing.T) {
	t.Parallel()
	s, records := openShop(t)
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	claims := l.Each(func(context.Context, *primitive.MessageExt) error { ran++; return nil })
	transacts := l.Tx(s.order)
	for _, cb := range []listener.Callback{claims, transacts, claims} {
		deliverUntilDone(t, cb, orderMessage("a"))
	}
	for _, cb := range []listener.Callback{transacts, claims, transacts} {
		deliverUntilDone(t, cb, orderMessage("b"))
	}
	if got := s.number("SELECT COUNT(*) FROM " + s.orders); ran != 1 || got != 1 {
		t.Errorf("got %d runs that claim and %d that transact, want one of each", ran, got)
	}
}
