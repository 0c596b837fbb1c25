package listener_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The floor is for machines on which everything else is busy, too. Both sides take
// turns, so that a busy moment hits them alike.
func TestARecordInItsTransactionTakesLittleOfTheThroughput(t *testing.T) {
	s, records := openShop(t)
	l, err := listener.NewDedupConcurrentListener("shop", records,
		listener.Options{Key: listener.KeyFromKeys(), Guard: noLog})
	if err != nil {
		t.Fatal(err)
	}
	cb := l.Tx(s.order)
	ours := func(id string) { want(t, cb, success, 0, orderMessage(id)) }
	const turns, orders, floor = 25, 200, 0.4
	var ratios []float64
	var rate float64
	for range turns {
		plain := turn(orders, s.bookPlainly)
		withRecord := turn(orders, ours)
		ratios = append(ratios, plain.Seconds()/withRecord.Seconds())
		rate = max(rate, orders/withRecord.Seconds())
	}
	slices.Sort(ratios)
	ratio := ratios[turns/2]
	t.Logf("figure: %.2f of the throughput without a record, %.2f to %.2f, %.0f transactions/s at best",
		ratio, ratios[0], ratios[turns-1], rate)
	if ratio < floor {
		t.Errorf("got %.2f of the throughput without a record, want %.1f at least", ratio, floor)
	}
	if got := s.number("SELECT COUNT(*) FROM " + s.orders); got != 2*turns*orders {
		t.Errorf("got %d orders, want %d", got, 2*turns*orders)
	}
}

// turn books new orders, 16 at a time, and returns how long that takes.
func turn(orders int, book func(id string)) time.Duration {
	ids := make(chan string, orders)
	for range orders {
		ids <- store.NewToken().String()
	}
	close(ids)
	began := time.Now()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for id := range ids {
				book(id)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// bookPlainly is the same business transaction without a record.
func (s *shop) bookPlainly(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, nil)
	if err == nil {
		defer tx.Rollback() // does nothing after the commit
		err = s.order(ctx, tx, orderMessage(id))
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		s.t.Error(err)
	}
}
