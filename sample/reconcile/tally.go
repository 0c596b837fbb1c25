package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/internal/stage"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/reconcile"
)

// tally is what the two databases say.
type tally struct {
	orders            int // how many there are
	applied, distinct int // by the table of the shop
	marked            int // as done, by the records
}

func count(ctx context.Context, shop *shop, records store.Scanner) (t tally, err error) {
	t.orders = shop.orders
	if t.applied, t.distinct, err = shop.applied(ctx); err != nil {
		return t, err
	}
	q := store.Query{Application: shop.run, Status: store.StatusConsumed, Limit: store.MaxScan}
	for {
		page, err := records.Scan(ctx, q)
		if err != nil {
			return t, err
		}
		t.marked += len(page.Records)
		if q.After = page.Next; q.After == "" {
			return t, nil
		}
	}
}

func (t tally) extra() int      { return t.applied - t.distinct }
func (t tally) lost() int       { return t.orders - t.distinct }
func (t tally) unfinished() int { return t.orders - t.marked }

// await waits until every order is applied and marked.
func await(ctx context.Context, shop *shop, records store.Scanner) error {
	return stage.Await(ctx, func() (bool, error) {
		t, err := count(ctx, shop, records)
		return t.lost() <= 0 && t.unfinished() <= 0, err
	})
}

// conclude prints the last line, and tells whether it is what it should be.
func conclude(ctx context.Context, shop *shop, records store.Scanner, kills int, by reconcile.Stats) error {
	t, err := count(ctx, shop, records)
	if err != nil {
		return err
	}
	fmt.Printf("kills=%d reconciled=%d retried=%d orders=%d applied=%d extra=%d lost=%d unfinished=%d\n",
		kills, by.Completed, by.Retried, t.orders, t.applied, t.extra(), t.lost(), t.unfinished())
	if t.extra() != 0 || t.lost() != 0 || t.unfinished() != 0 {
		err = errors.New("not every order was applied and marked once")
	}
	return errors.Join(err, shop.clear(ctx))
}
